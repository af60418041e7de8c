/**
 * A text request in the common form that everything behind the two endpoints works with, whichever of them received it
 * (chat/decode-request.ts, responses/decode-request.ts). It is validated: what a model cannot do is rejected before
 * (features.ts).
 */
import type { ReasoningEffort } from '@darkroom/api/facts/text-options';

/** A part of a message. */
export type ContentPart =
  | { readonly type: 'text'; readonly text: string }
  /** A web URL or a `data:` URL. */
  | { readonly type: 'image'; readonly url: string; readonly detail?: 'auto' | 'low' | 'high' }
  /** The text of an assistant's refusal, in a conversation that is sent again. */
  | { readonly type: 'refusal'; readonly refusal: string };

/** A function call that an assistant requested. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON as the model wrote it; it need not be valid. */
  readonly arguments: string;
}

/** One turn of the conversation. `developer` is the newer name for `system`. */
export type Message =
  | { readonly role: 'system' | 'developer' | 'user'; readonly content: readonly ContentPart[]; readonly name?: string }
  | {
      readonly role: 'assistant';
      readonly content: readonly ContentPart[];
      readonly toolCalls: readonly ToolCall[];
      /** Its reasoning before it answered, if the conversation includes it. */
      readonly reasoning?: string;
      /** Its reasoning in a form that only its upstream can read, returned to upstreams of the responses interface. */
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

/** The required form of the answer's text. */
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

export type Verbosity = 'low' | 'medium' | 'high';

/** A request, whichever endpoint received it. What is undefined was not requested: the model's own default counts. */
export interface TextRequest {
  /** The model's name, as the request stated it. */
  readonly model: string;
  readonly messages: readonly Message[];
  /** Reasoning and answer together (contract §9). */
  readonly maxOutputTokens: number | undefined;
  readonly stop: readonly string[];
  /** The number of answers. */
  readonly choices: number;
  readonly temperature: number | undefined;
  readonly topP: number | undefined;
  readonly frequencyPenalty: number | undefined;
  readonly presencePenalty: number | undefined;
  readonly logitBias: Readonly<Record<string, number>> | undefined;
  readonly seed: number | undefined;
  /** How many alternatives of each token are reported with it; 0: the token alone. */
  readonly topLogprobs: number | undefined;
  readonly format: OutputFormat;
  readonly tools: readonly FunctionTool[];
  readonly toolChoice: ToolChoice;
  readonly parallelToolCalls: boolean;
  /** Undefined: the model's default. */
  readonly reasoningEffort: ReasoningEffort | undefined;
  /** The length of the answer; undefined: the model's default. */
  readonly verbosity?: Verbosity | undefined;
}
