/** The answers of `POST /chat/completions` (contract §9): whole, and as the chunks of a stream. */
import { Type } from 'typebox';
import type { Static } from 'typebox';

/** The message of a model; `reasoning_content`: its reasoning. */
interface ChatAnswerMessage {
  readonly content?: string | null;
  readonly refusal?: string | null;
  readonly reasoning_content?: string | null;
}

const Usage = Type.Object({
  prompt_tokens: Type.Integer({ minimum: 0 }),
  completion_tokens: Type.Integer({ minimum: 0 }),
  total_tokens: Type.Integer({ minimum: 0 }),
});

/** The response that is not streamed. Additional fields of a model are passed on. */
export const ChatCompletionSchema = Type.Object({
  id: Type.String(),
  object: Type.Literal('chat.completion'),
  created: Type.Integer({ minimum: 0 }),
  model: Type.String(),
  choices: Type.Array(
    Type.Object({
      index: Type.Integer({ minimum: 0 }),
      message: Type.Unsafe<ChatAnswerMessage>({ type: 'object' }),
      finish_reason: Type.Unsafe<string | null>({ type: ['string', 'null'] }),
    }),
  ),
  usage: Type.Optional(Usage),
});

export type ChatCompletion = Static<typeof ChatCompletionSchema>;

/** One event of a streamed answer. An error in the middle is an event with `error` in place of `choices`. */
export interface ChatCompletionChunk {
  readonly choices?: readonly { readonly delta?: ChatDelta; readonly finish_reason?: string | null }[];
  /** In the last chunk with choices or after it, if it was requested. */
  readonly usage?: {
    readonly prompt_tokens: number;
    readonly completion_tokens: number;
    readonly prompt_tokens_details?: { readonly cached_tokens?: number };
    readonly completion_tokens_details?: { readonly reasoning_tokens?: number };
  } | null;
  readonly error?: { readonly message?: string };
  /** The fields of our envelope, in addition to `error`. */
  readonly message?: string;
  readonly code?: number;
  readonly error_code?: string;
}

/** What a chunk adds to an answer. */
export interface ChatDelta extends ChatAnswerMessage {
  readonly tool_calls?: readonly {
    readonly index: number;
    /** In the first piece of a call, as is its name. */
    readonly id?: string;
    readonly function?: { readonly name?: string; readonly arguments?: string };
  }[];
}
