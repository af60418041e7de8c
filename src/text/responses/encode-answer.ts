/**
 * Renders an answer's events as a response: its stream events, numbered from 0, and the response object, which is the
 * same streamed and not (contract §9, §4.4 of the specification).
 *
 * After an error, what is open stays open: a half-written call is never reported as done. The object of the failed
 * response shows what was generated until then.
 */
import { formatEncodedEvent } from '../../domain/server-sent-event.ts';
import { frameOf } from '../encoder.ts';
import type { AnswerEncoder } from '../encoder.ts';
import type { FinishReason } from '../source.ts';
import type { BilledUsage } from '../tally.ts';
import type { Rendering } from './decode-request.ts';
import { ItemWriter } from './item-writer.ts';
import { OutputQueue } from './output-queue.ts';
import type { DeltaRecorder } from './replay.ts';
import { errorMembers, responseError, completionTime, responseObject } from './response-object.ts';
import type { IncompleteReason, ResponseState } from './response-object.ts';

/** The fields of a response besides its output. */
export interface ResponseMeta extends Rendering {
  /** `resp_…`. */
  readonly id: string;
  /** Unix seconds. */
  readonly createdAt: number;
  /** The model's name here. */
  readonly model: string;
  /** Receives each event, if the stream is to be sent again. */
  readonly deltas?: DeltaRecorder | undefined;
  /** False: no events are written, because there is no stream. Default: true. */
  readonly isStreamed?: boolean;
  /** Milliseconds since 1970, by the clock of `createdAt`. */
  readonly now: () => number;
}

const INCOMPLETE_REASONS: Readonly<Record<FinishReason, IncompleteReason | undefined>> = {
  stop: undefined,
  tool_calls: undefined,
  length: 'max_output_tokens',
  content_filter: 'content_filter',
};

export function createResponseEncoder(meta: ResponseMeta): AnswerEncoder {
  const { createdAt, now, deltas, isStreamed = true } = meta;
  let frames: string[] = [];
  let sequence = 0;
  let finish: FinishReason | undefined;
  let last: Readonly<Record<string, unknown>> | undefined;

  const note = (data: Readonly<Record<string, unknown>>): void => {
    deltas?.note(data);
    sequence += 1;
  };
  const emit = (type: string, data: Readonly<Record<string, unknown>>): void => {
    if (isStreamed) frames.push(frameOf({ type, sequence_number: sequence, ...data }, type));
    note(data);
  };
  const taken = (): readonly string[] => {
    const written = frames;
    frames = [];
    return written;
  };
  const writer = new ItemWriter(meta.id, meta, emit);
  const queue = new OutputQueue(writer);

  const stateOf = (state: Partial<ResponseState>): Readonly<Record<string, unknown>> =>
    responseObject(meta, {
      status: 'in_progress',
      output: writer.items(state.status === undefined ? 'in_progress' : 'incomplete'),
      completedAt: null,
      incompleteReason: null,
      error: null,
      usage: null,
      ...state,
    });
  const finishAs = (reason: FinishReason): void => {
    finish = reason;
    queue.finish(INCOMPLETE_REASONS[reason] !== undefined);
  };

  return {
    begin() {
      const response = stateOf({});
      // It repeats a request that may be large: it is serialized once for both.
      const text = isStreamed ? JSON.stringify(response) : '';
      for (const type of ['response.created', 'response.in_progress']) {
        if (isStreamed) {
          const data = `{"type":"${type}","sequence_number":${sequence},"response":${text}}`;
          frames.push(formatEncodedEvent(data, type));
        }
        note({ response });
      }
      return taken();
    },
    next(event) {
      // A response is one answer: there are no others.
      if (event.type === 'usage' || event.choice !== 0 || finish !== undefined) return [];
      if (event.type === 'finish') finishAs(event.reason);
      else if (event.type === 'image') {
        // It comes between two turns of the model: what the one before has written is whole.
        queue.finish(false);
        writer.writeImage(event.step);
      } else queue.add(event);
      return taken();
    },
    end(usage: BilledUsage) {
      if (finish === undefined) finishAs('stop');
      const incompleteReason = INCOMPLETE_REASONS[finish ?? 'stop'] ?? null;
      const status = incompleteReason === null ? 'completed' : 'incomplete';
      const completedAt = incompleteReason === null ? completionTime(createdAt, now) : null;
      last = stateOf({ status, incompleteReason, completedAt, usage });
      emit(`response.${status}`, { response: last });
      return taken();
    },
    fail(problem) {
      last = stateOf({ status: 'failed', error: responseError(problem) });
      emit('error', errorMembers(problem));
      emit('response.failed', { response: last });
      return taken();
    },
    answer: () => last ?? stateOf({}),
  };
}
