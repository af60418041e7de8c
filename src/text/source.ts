/**
 * Who answers a request for text: the embedded model or an upstream, behind one small interface. Opening an answer
 * settles that there will be one; everything before that may be tried again elsewhere, nothing after it
 * (contract §9, issue "Upstreams").
 */
import type { TextModelDefinition } from '../catalogue/text-definition.ts';
import type { TextProblem } from './encoder.ts';
import type { TextEvent } from './events.ts';
import type { TextRequest } from './request.ts';
import type { DeltaRecorder } from './responses/delta-cuts.ts';
import type { ResponseEcho } from './responses/response-object.ts';
import type { Tally } from './tally.ts';

/** The two endpoints. */
export type TextSurface = 'chat' | 'responses';

/** A request on its way to whoever answers it. */
export interface TextCall {
  /** Names the answer: `chatcmpl-…` or `resp_…`; the ledger's reference too. */
  readonly id: string;
  /** Whose call it is: nothing of one account's calls is to show in another's. */
  readonly accountId: string;
  readonly surface: TextSurface;
  readonly model: TextModelDefinition;
  readonly request: TextRequest;
  /** The client's own body, checked: what an upstream of the same surface is sent, with its own model's name. */
  readonly body: Readonly<Record<string, unknown>>;
  /** To be awaited before all of a large request is gone through (limits/turns.ts); absent: it is small. */
  readonly nextTurn?: (() => Promise<void>) | undefined;
  readonly isStreamed: boolean;
  /** Kept up to date while the answer passes. */
  readonly tally: Tally;
  /** Unix seconds. */
  readonly createdAt: number;
  /** Of responses: what the answer's object repeats of the request (responses/response-object.ts). */
  readonly echo?: ResponseEcho;
  /** Of responses whose stream is to be sent again: told each of its events by an upstream's frames. */
  readonly deltas?: DeltaRecorder;
}

/**
 * An answer that has begun.
 *
 * - `events`: to be rendered by the surface's encoder;
 * - `frames`: the surface's own stream, one complete server-sent event each, as the client gets it, without `[DONE]`;
 * - `body`: the surface's own unstreamed answer, as the client gets it.
 *
 * The two last come only from an upstream of the surface that was asked for; they feed the tally by themselves, while
 * events are fed to it by whoever renders them. Whoever stops iterating early ends the call. Iterating throws
 * `TextFailure`.
 */
export type OpenedAnswer =
  | { readonly kind: 'events'; readonly events: AsyncIterable<TextEvent> }
  | {
      readonly kind: 'frames';
      readonly frames: AsyncIterable<string>;
      /** Of responses: the whole one, once the frames are over. */
      readonly whole?: () => Readonly<Record<string, unknown>> | undefined;
      /**
       * Of responses: what is to follow the frames where iterating them threw, told as the end of this very stream.
       * Absent: the surface's encoder can say it without having seen the stream.
       */
      readonly fail?: (problem: TextProblem) => readonly string[];
    }
  | { readonly kind: 'body'; readonly body: Readonly<Record<string, unknown>> };

export interface TextSource {
  /**
   * Resolves when the answer has begun: its status is good, and where it is streamed its first event is there.
   *
   * @param signal aborted when the client goes or the process stops.
   * @throws {TextFailure} nothing was said yet. @throws {InvalidTextRequest} this request cannot be answered.
   */
  open(call: TextCall, signal: AbortSignal): Promise<OpenedAnswer>;
}
