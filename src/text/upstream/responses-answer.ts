/**
 * A response on its way from an upstream to a client of the same interface, streamed or whole. Its object becomes ours:
 * its content and how it ended are copied, what it repeats of the request is what the client sent, and its name, its
 * model, its times and its usage are ours. Of a stream, the events that carry no response object pass unchanged, except
 * those whose number is not the next one: contract §9 requires a `sequence_number` on each, and omitted events must not
 * show.
 */
import { isRecord } from '../../domain/json.ts';
import { formatEncodedEvent } from '../../domain/server-sent-event.ts';
import { frameOf } from '../encoder.ts';
import type { TextProblem } from '../encoder.ts';
import { completionTime, errorMembers, responseError, responseObject } from '../responses/response-object.ts';
import type { ResponseState } from '../responses/response-object.ts';
import type { TextCall } from '../source.ts';
import { parse } from './chat-stream.ts';
import type { StreamReader } from './event-stream.ts';
import { PartialOutput } from './partial-output.ts';
import { assertNoError, responsesUsage } from './read-answer.ts';
import type { Members } from './read-answer.ts';
import { brokenOff, invalidAnswer } from './upstream-failure.ts';

type OwnStatus = 'in_progress' | 'completed' | 'incomplete';

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
    if (!isRecord(json)) throw invalidAnswer('an event that is no object');
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
      assertNoError(isRecord(json) ? json['error'] : undefined);
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
        if (isRecord(item) && typeof item['name'] === 'string') tally.addOutput(item['name']);
        return;
      default:
    }
  }
}

function textOf(delta: unknown): string {
  if (typeof delta !== 'string') throw invalidAnswer('a delta that is no text');
  return delta;
}

/**
 * A whole response.
 *
 * @param json as the upstream sent it. @param now milliseconds since 1970.
 * @throws {UpstreamFailure} `upstream_invalid`.
 */
export function responsesBody(json: unknown, call: TextCall, now: () => number): Members {
  if (!isRecord(json)) throw invalidAnswer('an answer that is no object');
  assertNoError(json['error']);
  const { output } = json;
  if (!Array.isArray(output) || !output.every(isRecord)) throw invalidAnswer('a response without an output');
  const { status } = json;
  if (status !== 'completed' && status !== 'incomplete') throw invalidAnswer('a response that is not finished');
  tallyOutput(output, call);
  return ownResponse(json, call, status, now);
}

/**
 * Reads an upstream's response, and its usage if it is reported.
 *
 * @param call with its `echo`. @param now milliseconds since 1970.
 * @throws {UpstreamFailure} `upstream_invalid`: it is not a response, or has failed.
 */
function ownResponse(json: unknown, call: TextCall, status: OwnStatus, now: () => number): Members {
  if (!isRecord(json)) throw invalidAnswer('a response that is no object');
  assertNoError(json['error']);
  const output = json['output'] ?? [];
  if (!Array.isArray(output) || !output.every(isRecord)) throw invalidAnswer('a response whose output is no list');
  const usage = responsesUsage(json['usage']);
  if (usage !== undefined) call.tally.report(usage);
  return objectOf(call, output, {
    status,
    completedAt: status === 'completed' ? completionTime(call.createdAt, now) : null,
    incompleteReason: status === 'incomplete' ? incompleteReason(json['incomplete_details']) : null,
    error: null,
    usage: status === 'in_progress' ? null : call.tally.usage(),
  });
}

/**
 * A response that broke off.
 *
 * @param call with its `echo`. @param output what was generated until then.
 */
function failedResponse(call: TextCall, output: readonly Members[], problem: TextProblem): Members {
  return objectOf(call, output, {
    status: 'failed',
    completedAt: null,
    incompleteReason: null,
    error: responseError(problem),
    usage: null,
  });
}

function objectOf(call: TextCall, output: readonly Members[], state: Omit<ResponseState, 'output'>): Members {
  const { id, createdAt, model, echo } = call;
  if (echo === undefined) throw new Error('a call of the Responses API has no `echo`');
  const head = { id, createdAt, model: model.name, echo };
  return responseObject(head, { ...state, output });
}

function incompleteReason(details: unknown): 'max_output_tokens' | 'content_filter' {
  const isFiltered = isRecord(details) && details['reason'] === 'content_filter';
  return isFiltered ? 'content_filter' : 'max_output_tokens';
}

/** Counts the content of an output's items, for upstreams that report no usage. */
function tallyOutput(output: readonly Members[], { tally }: TextCall): void {
  for (const item of output) {
    const isReasoning = item['type'] === 'reasoning';
    for (const value of textsIn(item)) {
      if (isReasoning) tally.addReasoning(value);
      else tally.addOutput(value);
    }
  }
}

function* textsIn(item: Members): Generator<string> {
  for (const name of ['name', 'arguments']) {
    const value = item[name];
    if (item['type'] === 'function_call' && typeof value === 'string') yield value;
  }
  for (const name of ['content', 'summary']) {
    const parts = item[name];
    if (!Array.isArray(parts)) continue;
    for (const part of parts.filter(isRecord)) {
      const value = part['text'] ?? part['refusal'];
      if (typeof value === 'string') yield value;
    }
  }
}
