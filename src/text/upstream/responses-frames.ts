/**
 * A stream of response events on its way from an upstream to a client of the same interface. Events pass unchanged;
 * the few that carry the response object are encoded again with ours (responses-object.ts), and so are those whose
 * number is not the next one: contract §9 requires a `sequence_number` on each, and omitted events must not show.
 */
import { formatEncodedEvent } from '../../domain/server-sent-event.ts';
import { frameOf } from '../encoder.ts';
import type { TextProblem } from '../encoder.ts';
import { errorMembers } from '../responses/failure.ts';
import type { TextCall } from '../source.ts';
import { assertNoError, isObject } from './chat-choice.ts';
import type { Members } from './chat-choice.ts';
import { parse } from './chat-stream.ts';
import { failedResponse, ownResponse } from './responses-object.ts';
import type { OwnStatus } from './responses-object.ts';
import { PartialOutput } from './partial-output.ts';
import type { StreamReader } from './stream-reader.ts';
import { brokenOff, invalidAnswer } from './upstream-failure.ts';

/** The events that end a stream, and the status of the response then. */
const ENDS: Readonly<Record<string, OwnStatus>> = {
  'response.completed': 'completed',
  'response.incomplete': 'incomplete',
};

export class ResponsesFrames implements StreamReader<string> {
  readonly #call: TextCall;
  readonly #now: () => number;
  readonly #output = new PartialOutput();
  #nextNumber: number | undefined;
  #whole: Members | undefined;

  /** @param call with its `echo`. @param now milliseconds since 1970. */
  constructor(call: TextCall, now: () => number) {
    this.#call = call;
    this.#now = now;
  }

  get isOver(): boolean {
    return this.#whole !== undefined;
  }

  /** The whole response, once it is there. */
  whole(): Members | undefined {
    return this.#whole;
  }

  read(name: string | undefined, data: string, emit: (frame: string) => void): void {
    if (this.isOver) return;
    if (data.length <= 8 && data.trim() === '[DONE]') throw invalidAnswer('a stream without a whole response');
    const json = parse(data);
    if (!isObject(json)) throw invalidAnswer('an event that is no object');
    const type = json['type'] ?? name;
    if (type === 'error') assertNoError(json['error'] ?? json);
    if (typeof type !== 'string') {
      assertNoError(json['error']);
      throw invalidAnswer('an event without a type');
    }
    // Some upstreams send keep-alive events of their own.
    if (!/^response\.[\w.]+$/.test(type)) return;
    emit(this.#frame(type, json, data));
  }

  end(): void {
    if (!this.isOver) throw brokenOff('a stream that broke off');
  }

  /**
   * What follows the emitted frames if no more can come: an error, and the response as far as it came. What was open
   * in the stream stays open, as in an answer of our own.
   */
  fail(problem: TextProblem): readonly string[] {
    const number = this.#nextNumber ?? 0;
    const response = failedResponse(this.#call, this.#output.items(), problem);
    const failed = { type: 'response.failed', sequence_number: number + 1, response };
    return [
      frameOf({ type: 'error', sequence_number: number, ...errorMembers(problem) }, 'error'),
      frameOf(failed, failed.type),
    ];
  }

  /** An event that cannot be passed on takes no number. */
  #frame(type: string, json: Members, data: string): string {
    const given = json['sequence_number'];
    const isNumbered = typeof given === 'number' && Number.isInteger(given) && given >= 0;
    const number = this.#nextNumber ?? (isNumbered ? given : 0);
    const frame = this.#encoded(type, json, { data, number, isAsNumbered: given === number });
    this.#nextNumber = number + 1;
    this.#call.deltas?.note(json);
    return frame;
  }

  #encoded(
    type: string,
    json: Members,
    { data, number, isAsNumbered }: { readonly data: string; readonly number: number; readonly isAsNumbered: boolean },
  ): string {
    if (json['response'] !== undefined) {
      return frameOf(
        { ...json, type, sequence_number: number, response: this.#response(type, json['response']) },
        type,
      );
    }
    this.#count(type, json);
    this.#output.record(type, json);
    const isAsWritten = isAsNumbered && json['type'] === type && !data.includes('\n');
    return isAsWritten ? formatEncodedEvent(data, type) : frameOf({ ...json, type, sequence_number: number }, type);
  }

  #response(type: string, json: unknown): Members {
    if (type === 'response.failed') {
      assertNoError(isObject(json) ? json['error'] : undefined);
      throw brokenOff('a response that failed');
    }
    const status = ENDS[type] ?? 'in_progress';
    const own = ownResponse(json, this.#call, status, this.#now);
    if (status !== 'in_progress') this.#whole = own;
    return own;
  }

  /** Counts the content, for upstreams that report no usage, and for clients that disconnect before they do. */
  #count(type: string, json: Members): void {
    const { tally } = this.#call;
    const { delta, item } = json;
    switch (type) {
      case 'response.output_text.delta':
      case 'response.refusal.delta':
      case 'response.function_call_arguments.delta':
        tally.addOutput(textOf(delta));
        return;
      case 'response.reasoning_text.delta':
      case 'response.reasoning.delta':
      case 'response.reasoning_summary_text.delta':
        tally.addReasoning(textOf(delta));
        return;
      case 'response.output_item.added':
        if (isObject(item) && typeof item['name'] === 'string') tally.addOutput(item['name']);
        return;
      default:
    }
  }
}

function textOf(delta: unknown): string {
  if (typeof delta !== 'string') throw invalidAnswer('a delta that is no text');
  return delta;
}
