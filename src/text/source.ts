/**
 * The source of a text answer, the offline text model or an upstream, behind one small interface; and the events of
 * which an answer consists. Opening an answer settles that there will be one; everything before that may be retried
 * elsewhere, nothing after it (contract §9).
 */
import type { TextModelDefinition } from '../catalogue/text-definition.ts';
import type { TextProblem } from './encoder.ts';
import type { TextRequest } from './request.ts';
import type { ImageCallItem } from './responses/items.ts';
import type { DeltaRecorder } from './responses/replay.ts';
import type { ResponseEcho } from './responses/response-object.ts';
import type { Tally } from './tally.ts';

/** The two endpoints. */
export type TextSurface = 'chat' | 'responses';

/** A request on its way to its source. */
export interface TextCall {
  /** Identifies the answer: `chatcmpl-…` or `resp_…`; the ledger's reference too. */
  readonly id: string;
  /** The account of the call: nothing of one account's calls may show in another's. */
  readonly accountId: string;
  readonly surface: TextSurface;
  readonly model: TextModelDefinition;
  readonly request: TextRequest;
  /** The client's own body, validated: what an upstream of the same surface is sent, with its own model's name. */
  readonly body: Readonly<Record<string, unknown>>;
  /** To be awaited before a large request is processed completely (limits/turns.ts); absent: it is small. */
  readonly nextTurn?: (() => Promise<void>) | undefined;
  readonly isStreamed: boolean;
  /**
   * To be awaited before a request is sent to an upstream that may bill it. Throws if it is not to be sent; absent: it
   * is.
   */
  readonly beforeSend?: (() => Promise<void>) | undefined;
  /** It can be tried again later: an upstream whose circuit breaker is open is left in peace. Absent: it cannot. */
  readonly canWait?: boolean;
  /** The answer is read here, because it may call a built-in tool: its source has to open it as events. */
  readonly isReadHere?: boolean;
  /** Updated while the answer passes. */
  readonly tally: Tally;
  /** Unix seconds. */
  readonly createdAt: number;
  /**
   * For the responses endpoint: the members of the request that the response object repeats
   * (responses/response-object.ts).
   */
  readonly echo?: ResponseEcho;
  /** For responses whose stream is to be sent again: an upstream's frames report each of its events here. */
  readonly deltas?: DeltaRecorder;
}

/**
 * An answer that has begun.
 *
 * - `events`: to be rendered by the surface's encoder;
 * - `frames`: the surface's own stream, one complete server-sent event each, as the client gets it, without `[DONE]`;
 * - `body`: the surface's own unstreamed answer, as the client gets it.
 *
 * The last two come only from an upstream of the requested surface; they feed the tally by themselves, while events
 * are fed to it by the code that renders them. Ending the iteration early ends the call. Iterating throws
 * `TextFailure`.
 */
export type OpenedAnswer =
  | { readonly kind: 'events'; readonly events: AsyncIterable<TextEvent> }
  | {
      readonly kind: 'frames';
      readonly frames: AsyncIterable<string>;
      /** For responses: the whole object, once all frames were sent. */
      readonly whole?: () => Readonly<Record<string, unknown>> | undefined;
      /**
       * For responses: what follows the frames if iterating them threw, reported as the end of this very stream.
       * Absent: the surface's encoder can report it without having seen the stream.
       */
      readonly fail?: (problem: TextProblem) => readonly string[];
    }
  | { readonly kind: 'body'; readonly body: Readonly<Record<string, unknown>> };

export interface TextSource {
  /**
   * Resolves when the answer has begun: its status is a success, and if it is streamed, its first event is there.
   *
   * @param signal aborted when the client disconnects or the process stops.
   * @throws {TextFailure} nothing was emitted yet. @throws {InvalidTextRequest} this request cannot be answered.
   */
  open(call: TextCall, signal: AbortSignal): Promise<OpenedAnswer>;
}

/** A token of the text with the natural logarithm of its probability, and the alternatives that were requested. */
export interface TokenLogprob {
  readonly token: string;
  readonly logprob: number;
  readonly bytes: readonly number[] | null;
  readonly alternatives: readonly Omit<TokenLogprob, 'alternatives'>[];
}

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter';

/** The steps of one image that the built-in tool generates; they are followed by its end or by that of the answer. */
export type ImageStep =
  | { readonly type: 'begun' }
  | { readonly type: 'generating'; readonly taskId: string }
  | { readonly type: 'done'; readonly item: ImageCallItem };

/**
 * An answer while it is generated: the one stream of events that both endpoints render, streamed or not. A source
 * yields them in order, and fails by throwing `TextFailure`.
 *
 * For each choice: any order of reasoning, text, refusals and tool calls, then one `finish`. After the last choice's
 * `finish` one `usage`, if the source knows it. Arguments of several tool calls may arrive interleaved.
 */
export type TextEvent =
  | {
      readonly type: 'text';
      readonly choice: number;
      readonly text: string;
      readonly logprobs?: readonly TokenLogprob[];
    }
  | { readonly type: 'refusal'; readonly choice: number; readonly text: string }
  | { readonly type: 'reasoning'; readonly choice: number; readonly text: string }
  /** A call begins. `index` counts the calls of its choice from 0. */
  | {
      readonly type: 'tool_call';
      readonly choice: number;
      readonly index: number;
      readonly id: string;
      readonly name: string;
    }
  | { readonly type: 'tool_arguments'; readonly choice: number; readonly index: number; readonly text: string }
  /** The built-in tool generates an image. Only in responses, between two turns of the model (tools/image-turns.ts). */
  | { readonly type: 'image'; readonly choice: number; readonly step: ImageStep }
  | { readonly type: 'finish'; readonly choice: number; readonly reason: FinishReason }
  | { readonly type: 'usage'; readonly usage: TokenUsage };

/** Tokens of one call, over all its choices. */
export interface TokenUsage {
  readonly inputTokens: number;
  /** Of those, the ones that were read from the upstream's cache. */
  readonly cachedInputTokens: number;
  /** Reasoning included. */
  readonly outputTokens: number;
  /** Of those, the reasoning tokens. */
  readonly reasoningTokens: number;
}
