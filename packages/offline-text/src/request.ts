/** What the model reads of a request. Whoever calls it has validated the request. */

export type JsonSchema = Readonly<Record<string, unknown>>;

/** A part of a message. Of an image only that it is there is read. */
export type ContentPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly url: string }
  | { readonly type: 'refusal'; readonly refusal: string };

/** A function call that an assistant requested; its arguments are JSON as the model wrote it. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

/** One turn of the conversation. `developer` is the newer name for `system`. */
export type Message =
  | { readonly role: 'system' | 'developer' | 'user'; readonly content: readonly ContentPart[] }
  | {
      readonly role: 'assistant';
      readonly content: readonly ContentPart[];
      readonly toolCalls: readonly ToolCall[];
    }
  | { readonly role: 'tool'; readonly toolCallId: string; readonly content: readonly ContentPart[] };

/** A function that the model may call. `parameters` is a JSON Schema; absent: it takes nothing. */
export interface FunctionTool {
  readonly name: string;
  readonly description?: string;
  readonly parameters?: JsonSchema;
}

export type ToolChoice = 'auto' | 'none' | 'required' | { readonly name: string };

/** The required form of the answer's text. */
export type OutputFormat =
  | { readonly type: 'text' }
  | { readonly type: 'json_object' }
  | { readonly type: 'json_schema'; readonly schema: JsonSchema };

/** How much it reasons before it answers; `none`: not at all. */
export type ReasoningEffort = 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh';

export type Verbosity = 'low' | 'medium' | 'high';

export interface OfflineTextRequest {
  readonly messages: readonly Message[];
  readonly stop: readonly string[];
  readonly format: OutputFormat;
  readonly tools: readonly FunctionTool[];
  readonly toolChoice: ToolChoice;
  readonly parallelToolCalls: boolean;
  /** Undefined: the model's default. */
  readonly reasoningEffort: ReasoningEffort | undefined;
  readonly verbosity?: Verbosity | undefined;
}
