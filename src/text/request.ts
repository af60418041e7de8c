/**
 * A request for text in the one form that everything behind the two endpoints works with, whichever of them it came by
 * (chat/decode-request.ts, responses/decode-request.ts). It is checked: what a model cannot do is refused before
 * (features.ts).
 */

/** A piece of what somebody says. */
export type ContentPart =
  | { readonly type: 'text'; readonly text: string }
  /** An address or a `data:` URL. */
  | { readonly type: 'image'; readonly url: string; readonly detail?: 'auto' | 'low' | 'high' }
  /** What an assistant refused with, in a conversation that is sent again. */
  | { readonly type: 'refusal'; readonly refusal: string };

/** A call of a function that an assistant asked for. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON as the model wrote it; it need not be valid. */
  readonly arguments: string;
}

/** One turn of the conversation. `developer` is the newer word for `system`. */
export type Message =
  | { readonly role: 'system' | 'developer' | 'user'; readonly content: readonly ContentPart[]; readonly name?: string }
  | {
      readonly role: 'assistant';
      readonly content: readonly ContentPart[];
      readonly toolCalls: readonly ToolCall[];
      /** What it thought before it answered, where the conversation brings that back. */
      readonly reasoning?: string;
      /** What it thought in a form that only its upstream can read, which upstreams of the responses interface get back. */
      readonly sealedReasoning?: string;
      readonly name?: string;
    }
  | { readonly role: 'tool'; readonly toolCallId: string; readonly content: readonly ContentPart[] };

/** A function that the model may call. `parameters` is a JSON Schema; absent: it takes nothing. */
export interface FunctionTool {
  readonly name: string;
  readonly description?: string;
  readonly parameters?: JsonSchema;
  readonly strict?: boolean;
}

export type JsonSchema = Readonly<Record<string, unknown>>;

export type ToolChoice = 'auto' | 'none' | 'required' | { readonly name: string };

/** The types of `OutputFormat`. */
export const OUTPUT_FORMATS = ['text', 'json_object', 'json_schema'] as const satisfies readonly OutputFormat['type'][];

/** What the answer's text has to be. */
export type OutputFormat =
  | { readonly type: 'text' }
  | { readonly type: 'json_object' }
  | {
      readonly type: 'json_schema';
      readonly name: string;
      readonly description?: string;
      readonly schema: JsonSchema;
      readonly strict: boolean;
    };

/** How much a model thinks before it answers; `none`: not at all. */
export const REASONING_EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'] as const;
export type ReasoningEffort = (typeof REASONING_EFFORTS)[number];

export type Verbosity = 'low' | 'medium' | 'high';

/** A request, whichever endpoint it came by. What is undefined was not asked for: the model's own default counts. */
export interface TextRequest {
  /** As the request named it. */
  readonly model: string;
  readonly messages: readonly Message[];
  /** Reasoning and answer together (contract §9). */
  readonly maxOutputTokens: number | undefined;
  readonly stop: readonly string[];
  /** How many answers. */
  readonly choices: number;
  readonly temperature: number | undefined;
  readonly topP: number | undefined;
  readonly frequencyPenalty: number | undefined;
  readonly presencePenalty: number | undefined;
  readonly logitBias: Readonly<Record<string, number>> | undefined;
  readonly seed: number | undefined;
  /** How many alternatives of each token are told beside it; 0: the token alone. */
  readonly topLogprobs: number | undefined;
  readonly format: OutputFormat;
  readonly tools: readonly FunctionTool[];
  readonly toolChoice: ToolChoice;
  readonly parallelToolCalls: boolean;
  /** Undefined: the model's default. */
  readonly reasoningEffort: ReasoningEffort | undefined;
  /** How long the answer is; undefined: the model's default. */
  readonly verbosity?: Verbosity | undefined;
}
