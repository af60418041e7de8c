/**
 * The types of requests and responses. Generated from the schemas of the API by test/sdk/render-javascript-types.ts; do
 * not edit.
 */

/**
 * The `error_code` of a rejected request.
 */
export type ErrorCode =
  | 'INVALID_REQUEST'
  | 'MODEL_UNAVAILABLE'
  | 'UNAUTHORIZED'
  | 'INSUFFICIENT_BALANCE'
  | 'FORBIDDEN'
  | 'ACCOUNT_SUSPENDED'
  | 'URL_EXPIRED'
  | 'NOT_FOUND'
  | 'METHOD_NOT_ALLOWED'
  | 'RESPONSE_IN_PROGRESS'
  | 'TASK_PRUNED'
  | 'PAYLOAD_TOO_LARGE'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'IDEMPOTENCY_KEY_MISMATCH'
  | 'RATE_LIMITED'
  | 'INTERNAL_ERROR'
  | 'SERVICE_UNAVAILABLE';

/**
 * The status of a task.
 */
export type TaskStatus = 'queued' | 'handling' | 'archiving' | 'success' | 'fail';

export type TokenScope =
  | 'tasks:read'
  | 'tasks:write'
  | 'storage:read'
  | 'storage:write'
  | 'text:write'
  | 'models:read'
  | 'billing:read';

export interface Account {
  accountId: string;
  name: string;
  status: 'active' | 'suspended';
  /**
   * The available and the held amount together.
   */
  balance: string;
  /**
   * The amount held for tasks and text calls that have not ended.
   */
  held: string;
  /**
   * The amount available for new requests.
   */
  available: string;
  currency: 'USD';
  limits: {
    /**
     * Create requests per minute. This is also the burst size.
     */
    createsPerMinute: number;
    /**
     * All other requests per minute.
     */
    readsPerMinute: number;
    /**
     * The maximum number of tasks that run at once. Further tasks wait as `queued`.
     */
    runningTasks: number;
    /**
     * The maximum number of queued tasks. Beyond it, creating a task returns 429.
     */
    queuedTasks: number;
    /**
     * The maximum number of bytes in persistent storage.
     */
    persistentBytes: number;
    /**
     * Text requests per minute. This is also the burst size.
     */
    textRequestsPerMinute: number;
    /**
     * Text tokens per minute, input and output together.
     */
    textTokensPerMinute: number;
    /**
     * The maximum number of concurrent text calls, streamed or not. Further calls return 429.
     */
    textStreams: number;
  };
  /**
   * The current usage of these limits.
   */
  usage: {
    runningTasks: number;
    queuedTasks: number;
    persistentBytes: number;
    textStreams: number;
  };
  /**
   * The price of one GB (1,000,000,000 bytes) of persistent storage per month, metered daily. Only returned to the account itself.
   */
  storagePrice?: string;
  /**
   * The receivers that fail to accept callbacks, the longest failing first. Empty if there are none. Only returned to the account itself.
   *
   * @maxItems 100
   */
  callbackProblems?: {
    /**
     * The scheme, host and port of the receiver.
     */
    origin: string;
    failingSince: number;
    lastFailed: number;
    /**
     * The HTTP status of the last attempt. 0 if there was no response.
     */
    lastStatus: number;
    /**
     * Why there was no response.
     */
    lastErrorClass?: 'tls' | 'timeout' | 'unreachable';
    /**
     * The number of callbacks that were given up since `failingSince`.
     */
    givenUp: number;
    /**
     * Whether each callback gets only one attempt, because the receiver has failed for a long time. Ends when a callback succeeds.
     */
    isReduced: boolean;
  }[];
  created: number;
}

export interface Batch {
  id: string;
  object: 'batch';
  /**
   * As requested.
   */
  endpoint:
    | '/v1/tasks'
    | '/v1/images/generations'
    | '/v1/images/edits'
    | '/v1/videos'
    | '/v1/chat/completions'
    | '/v1/responses';
  /**
   * The model that all lines name, once they were read.
   */
  model?: string;
  /**
   * With the status `failed`.
   */
  errors?: {
    object: 'list';
    data: {
      code: string;
      message: string;
      param: string | null;
      line: number | null;
      [k: string]: unknown;
    }[];
    [k: string]: unknown;
  };
  input_file_id: string;
  completion_window: string;
  status: 'validating' | 'in_progress' | 'finalizing' | 'completed' | 'failed' | 'expired' | 'cancelling' | 'cancelled';
  /**
   * Why some of its lines wait, while they do; `service` also while its files cannot be read or written. Ours.
   */
  waiting_for?: 'account' | 'daily_spend_cap' | 'rate_limit' | 'balance' | 'model' | 'response' | 'service';
  /**
   * The results of the lines that succeeded.
   */
  output_file_id?: string;
  /**
   * The errors of the other lines.
   */
  error_file_id?: string;
  created_at: number;
  in_progress_at?: number;
  expires_at: number;
  finalizing_at?: number;
  completed_at?: number;
  failed_at?: number;
  expired_at?: number;
  cancelling_at?: number;
  cancelled_at?: number;
  request_counts: {
    total: number;
    completed: number;
    failed: number;
    [k: string]: unknown;
  };
  /**
   * The tokens of the lines that were answered, in their order so far. Only for text models.
   */
  usage?: {
    input_tokens: number;
    input_tokens_details: {
      cached_tokens: number;
      [k: string]: unknown;
    };
    output_tokens: number;
    output_tokens_details: {
      reasoning_tokens: number;
      [k: string]: unknown;
    };
    total_tokens: number;
    [k: string]: unknown;
  };
  metadata: {
    [k: string]: string;
  } | null;
  [k: string]: unknown;
}

/**
 * A request of a batch. `method` and `url` of its line are those of the batch.
 */
export interface BatchLine {
  /**
   * The name of the request, unique in the file. Its result has the same.
   */
  custom_id: string;
  /**
   * The body of the request.
   */
  body: {
    [k: string]: unknown;
  };
}

/**
 * What became of a request of a batch.
 */
export interface BatchResult {
  id: string;
  /**
   * Null: the line had none.
   */
  custom_id: string | null;
  response: {
    /**
     * The status that a request of its own would have got.
     */
    status_code: number;
    /**
     * The id of the task, if there is one.
     */
    request_id: string;
    /**
     * The body that a request of its own would have got.
     */
    body: {
      [k: string]: unknown;
    };
    [k: string]: unknown;
  } | null;
  error: {
    code: string;
    message: string;
    [k: string]: unknown;
  } | null;
  [k: string]: unknown;
}

export interface Estimate {
  /**
   * The most that the task can cost, in USD, which is held when it is created. Null if errors prevent the price from being calculated.
   */
  maxCost: string | null;
  currency: 'USD';
  /**
   * How `maxCost` is calculated.
   *
   * @maxItems 1
   */
  breakdown: {
    /**
     * The unit that is counted: `image`, `second`, `character`, `task`, `token` or `credit`.
     */
    unit: string;
    /**
     * The maximum number of units.
     */
    quantity: string;
    /**
     * The price of one unit, in USD.
     */
    unitPrice: string;
    /**
     * Factors that apply because a field of the input has the given value. Each multiplies the price.
     *
     * @maxItems 20
     */
    factors: {
      field: string;
      value: string | boolean | number;
      factor: string;
    }[];
    /**
     * The product of quantity, unit price and factors, rounded up to a millionth of a USD; at least the `minimum` of the price and rounded to its `rounding`, where it has them.
     */
    amount: string;
  }[];
  /**
   * The full name of the resolved model. Null if the request names no model.
   */
  model: string | null;
  /**
   * The route that would be used. Null if the route is invalid.
   */
  route: string | null;
  /**
   * Whether the available balance and the spend caps of the key currently cover `maxCost`.
   */
  balanceSufficient: boolean | null;
  /**
   * All validation errors for which creating the task would return 400. Empty if there are none.
   *
   * @maxItems 300
   */
  errors: string[];
  /**
   * The same errors for programs, in the same order.
   *
   * @maxItems 300
   */
  violations: Violation[];
}

export interface Violation {
  /**
   * A readable message. It also names the field.
   */
  message: string;
  /**
   * The message without the field, to be shown at the field. Absent if there is none.
   */
  problem?: string;
  /**
   * The position of the field in the request, for example `input.image_urls.2`. Empty for the whole request.
   */
  field: string;
  /**
   * The violated JSON Schema keyword, or a rule such as `url` or `unique`.
   */
  keyword: string;
}

export interface FileObject {
  id: string;
  object: 'file';
  bytes: number;
  created_at: number;
  /**
   * Unix seconds: when the file is deleted.
   */
  expires_at: number;
  filename: string;
  purpose: 'batch' | 'user_data' | 'vision' | 'batch_output';
  status: 'processed';
  [k: string]: unknown;
}

export interface Model {
  /**
   * The name to send as `model`.
   */
  id: string;
  object: 'model';
  /**
   * Unix seconds.
   */
  created: number;
  owned_by: string;
  /**
   * The time when the model stops accepting requests, in Unix seconds. Null: no retirement is planned.
   */
  shutdown_date: number | null;
  modality: 'image' | 'video' | 'audio' | 'transcription' | 'text';
  /**
   * The paths of the endpoints that take the model, for example `/v1/tasks` and `/v1/images/generations`.
   */
  endpoints: string[];
  description: string;
  /**
   * The values that `route` accepts. A text model has no routes.
   */
  routes: string[];
  pricing: Pricing | TextPricing;
  /**
   * Properties of a text model. Absent for other models.
   */
  text?: {
    /**
     * The maximum number of tokens of a conversation and its response together.
     */
    contextTokens: number;
    /**
     * The maximum number of tokens to generate, including reasoning.
     */
    maxOutputTokens: number;
    /**
     * The features that a request may use in addition to text. Any other feature is rejected, and the error names it.
     */
    features: (
      | 'images'
      | 'n'
      | 'stop'
      | 'seed'
      | 'temperature'
      | 'top_p'
      | 'frequency_penalty'
      | 'presence_penalty'
      | 'logit_bias'
      | 'logprobs'
      | 'json_object'
      | 'json_schema'
      | 'tools'
      | 'parallel_tool_calls'
      | 'reasoning'
      | 'verbosity'
    )[];
  };
  /**
   * The time since when the model is deprecated, in Unix seconds. Null: it is not deprecated.
   */
  deprecation: number | null;
  /**
   * The model to use instead, or null.
   */
  replacement: string | null;
}

export interface Pricing {
  /**
   * The unit that is counted: images, seconds of video or audio, characters of a text, or nothing (a flat price). `token`, `credit` and `input_second` (a second of the audio and video in the input) count what the work used, and `hold` is the most that a task can be charged for.
   */
  unit: 'image' | 'second' | 'character' | 'task' | 'token' | 'credit' | 'input_second';
  /**
   * The price of one unit in decimal USD, unless `by` has another price.
   */
  usd: string;
  /**
   * The price of one unit in decimal USD, by the value of one field, or by those of two.
   */
  by?: {
    /**
     * A field of the input.
     */
    field?: string;
    /**
     * Two fields instead of `field`. The keys of `usd` are both values: `"high/1024x1024"`.
     *
     * @minItems 2
     * @maxItems 2
     */
    fields?: string[];
    /**
     * The values of `fields` that apply if they are absent.
     *
     * @minItems 2
     * @maxItems 2
     */
    default?: string[];
    usd: {
      [k: string]: string;
    };
  };
  /**
   * The most tokens, credits or seconds of one output: a number, or a field with it. It is multiplied by `count` and `duration`, and it is what is held.
   */
  hold?: {
    /**
     * The quantity itself.
     */
    quantity?: number;
    /**
     * A field of the input.
     */
    field?: string;
    /**
     * The value that applies if the field is absent.
     */
    default?: number;
  };
  /**
   * The tokens, credits or seconds of one output that are charged if the provider reports no usage. Absent: those that were held.
   */
  unreported?: number;
  /**
   * The lowest price of a task with outputs, in decimal USD.
   */
  minimum?: string;
  /**
   * The price of a task is rounded up to a multiple of `step`. Absent: to a millionth of a USD.
   */
  rounding?: {
    mode: 'up';
    /**
     * Decimal USD, above 0.
     */
    step: string;
  };
  /**
   * The field with the number of outputs. Absent: one output.
   */
  count?: {
    /**
     * A field of the input.
     */
    field: string;
    /**
     * The value that applies if the field is absent.
     */
    default?: number;
  };
  /**
   * The field with the number of seconds: an integer, or a string such as `"6"`.
   */
  duration?: {
    /**
     * A field of the input.
     */
    field: string;
    /**
     * The value that applies if the field is absent.
     */
    default?: number;
  };
  /**
   * The field with the text whose characters (Unicode code points) are counted.
   */
  text?: {
    /**
     * A field of the input.
     */
    field: string;
  };
  /**
   * Factors of the price. A factor applies if `field`, or `default` if the field is absent, equals `value`. All factors that apply are multiplied.
   *
   * @maxItems 20
   */
  factors?: {
    /**
     * A field of the input.
     */
    field: string;
    value: string | boolean | number;
    /**
     * A decimal number.
     */
    factor: string;
    default?: string | boolean | number;
  }[];
  /**
   * A factor of the price of the lines of batches: above 0, at most 1. Absent: they cost as much as other requests.
   */
  batchFactor?: string;
  /**
   * The cost of a task that is cancelled while it is `handling` although its provider had finished: the amount that the provider reports as billed (`billed`, the default), the price of the files that it generated, each as requested (`full`), or nothing (`free`). It never exceeds the held amount.
   */
  lateCancel?: 'billed' | 'full' | 'free';
}

/**
 * Decimal USD per million tokens of each kind.
 */
export interface TextPricing {
  /**
   * Tokens are counted.
   */
  unit: 'token';
  /**
   * Decimal USD per million tokens.
   */
  inputUsd: string;
  /**
   * Decimal USD per million tokens.
   */
  cachedInputUsd?: string;
  /**
   * Decimal USD per million tokens.
   */
  outputUsd: string;
  /**
   * Decimal USD per million tokens.
   */
  reasoningUsd?: string;
  /**
   * A factor of the price of the lines of batches: above 0, at most 1. Absent: they cost as much as other requests.
   */
  batchFactor?: string;
}

export interface ModelDetail {
  /**
   * The name to send as `model`.
   */
  id: string;
  object: 'model';
  /**
   * Unix seconds.
   */
  created: number;
  owned_by: string;
  /**
   * The time when the model stops accepting requests, in Unix seconds. Null: no retirement is planned.
   */
  shutdown_date: number | null;
  modality: 'image' | 'video' | 'audio' | 'transcription' | 'text';
  /**
   * The paths of the endpoints that take the model, for example `/v1/tasks` and `/v1/images/generations`.
   */
  endpoints: string[];
  description: string;
  /**
   * The values that `route` accepts. A text model has no routes.
   */
  routes: string[];
  pricing: Pricing | TextPricing;
  /**
   * Properties of a text model. Absent for other models.
   */
  text?: {
    /**
     * The maximum number of tokens of a conversation and its response together.
     */
    contextTokens: number;
    /**
     * The maximum number of tokens to generate, including reasoning.
     */
    maxOutputTokens: number;
    /**
     * The features that a request may use in addition to text. Any other feature is rejected, and the error names it.
     */
    features: (
      | 'images'
      | 'n'
      | 'stop'
      | 'seed'
      | 'temperature'
      | 'top_p'
      | 'frequency_penalty'
      | 'presence_penalty'
      | 'logit_bias'
      | 'logprobs'
      | 'json_object'
      | 'json_schema'
      | 'tools'
      | 'parallel_tool_calls'
      | 'reasoning'
      | 'verbosity'
    )[];
  };
  /**
   * The time since when the model is deprecated, in Unix seconds. Null: it is not deprecated.
   */
  deprecation: number | null;
  /**
   * The model to use instead, or null.
   */
  replacement: string | null;
  /**
   * The JSON Schema (draft 2020-12) that `input` is validated against. For a text model, the schema of the body of `POST /chat/completions`.
   */
  input_schema: {
    [k: string]: unknown;
  };
  /**
   * Examples of inputs that the model accepts.
   */
  examples: {
    [k: string]: unknown;
  }[];
}

export interface ModelList {
  object: 'list';
  data: Model[];
}

export interface Output {
  /**
   * The URL of the output, which can be downloaded without a key. Supports GET and HEAD, and `Range`.
   */
  url: string;
  /**
   * `image`, `video`, `audio`, `text`, `first_frame`, `last_frame` or `thumbnail`. More types may be added.
   */
  type: string;
  /**
   * The time when `url` expires, in Unix seconds.
   */
  expireAt: number;
  id: string;
  mimeType: string;
  sizeBytes: number;
  width?: number;
  height?: number;
  durationSeconds?: number;
  sha256: string;
  storage: 'temp' | 'persistent';
  /**
   * The end of the retention, in Unix seconds. 0 for persistent outputs.
   */
  retainUntil: number;
}

export interface Task {
  taskId: string;
  /**
   * The full name of the resolved model: `base` for the default route, or `base@route` for any other route.
   */
  model: string;
  /**
   * The route that is used. Only for models with several routes.
   */
  route?: string;
  status: 'queued' | 'handling' | 'archiving' | 'success' | 'fail';
  created: number;
  /**
   * Unix seconds. 0 until handling begins.
   */
  started: number;
  /**
   * Unix seconds. 0 until the task has ended.
   */
  completed: number;
  /**
   * The progress in steps of 0.1. Only while the task is being handled, if the progress is known.
   */
  progress?: number;
  storage: 'temp' | 'persistent';
  /**
   * The key that created the task.
   */
  keyId: string;
  metadata?: {
    [k: string]: string;
  };
  /**
   * The input as it was sent. Only with `include=input`. Null if it was erased.
   */
  input?: {
    [k: string]: unknown;
  } | null;
  /**
   * The outputs. Only if the task succeeded.
   */
  output?: Output[];
  /**
   * The outputs that were deleted or whose retention has ended.
   */
  outputGone?: {
    id: string;
    type: string;
    goneAt: number;
    reason: 'deleted' | 'expired';
  }[];
  /**
   * The error. Only if the task failed.
   */
  error?: {
    code:
      | 'TASK_FAILED'
      | 'TASK_TIMEOUT'
      | 'TASK_CANCELLED'
      | 'INVALID_REQUEST'
      | 'MODEL_UNAVAILABLE'
      | 'STORAGE_UNAVAILABLE';
    message: string;
    reason?: string;
    /**
     * The field of the input that could not be used, if it is known, for example `image_urls.2`.
     */
    field?: string;
    /**
     * Whether the same request may succeed as a new task.
     */
    retryable: boolean;
  };
  /**
   * The cost of the task, in decimal USD. `held` is the amount that was held at creation. Once the task has ended, it equals `captured` plus `released`.
   */
  billing: {
    currency: 'USD';
    held: string;
    captured: string;
    released: string;
    /**
     * The factor of the price. Only if the task is the line of a batch and its model has a `batchFactor`.
     */
    priceFactor?: string;
  };
  callback?: {
    state: 'waiting' | 'pending' | 'delivered' | 'exhausted' | 'stopped';
    attempts: number;
    /**
     * The time of the next attempt, in Unix seconds. 0 if none is due.
     */
    nextAttempt: number;
  };
}

export interface TaskEvent {
  /**
   * The sequence number of the event within the task: 1 for the first event, without gaps.
   */
  seq: number;
  /**
   * Unix seconds.
   */
  at: number;
  /**
   * The type of the event: `accepted`, `started`, `provider_refused`, `submitted`, `produced`, `archiving`, `archived`, `settled`, `cancel_requested`, `callback_attempted`, `callback_redelivery` and others. More types may be added. `settled`: the task has ended.
   */
  type: string;
  /**
   * Details that depend on the type. Empty if there are none.
   */
  detail: {
    [k: string]: string | number | boolean;
  };
}

export interface TaskEvents {
  /**
   * The events, oldest first.
   *
   * @maxItems 1000
   */
  events: TaskEvent[];
}

export interface TaskPage {
  /**
   * The page number.
   */
  page: number;
  /**
   * The maximum number of tasks per page.
   */
  size: number;
  /**
   * The number of matching tasks on all pages, exact up to 10000.
   */
  total: number;
  /**
   * Present if there are more than `total`.
   */
  totalIsCapped?: true;
  /**
   * Pass it as `cursor` to get the next page. Absent on the last page.
   */
  nextCursor?: string;
  /**
   * The tasks, newest first, as returned by `GET /v1/tasks/{taskId}`.
   *
   * @maxItems 100
   */
  tasks: Task[];
}

export interface TaskRequest {
  /**
   * The model name, as returned by `GET /v1/models`. Case-sensitive. The older format `<model>@<route>` is also accepted.
   */
  model: string;
  /**
   * The input of the model. Its fields are defined by the model's own schema (`GET /v1/models/{id}`).
   */
  input: {
    [k: string]: unknown;
  };
  /**
   * Where to send the result. If omitted, poll the task.
   */
  callback?: {
    /**
     * A public HTTPS URL. It receives a POST when the task has ended, and must respond with 2xx within 10 s.
     */
    url: string;
    /**
     * When the callback is sent. Must be `final`, the default.
     */
    when?: 'final';
  };
  /**
   * The route to use, for models with several routes. If omitted, `""` or `default`, the default route is used.
   */
  route?: string;
  /**
   * How long the outputs are stored. `temp`, the default: for 7 days. `persistent`: until they are deleted.
   */
  storage?: 'temp' | 'persistent';
  /**
   * Your own key-value pairs. They are returned with the task, and lists can be filtered by them.
   */
  metadata?: {
    [k: string]: string;
  };
  /**
   * The maximum cost, in decimal USD. The request is rejected if its worst-case cost is higher.
   */
  maxCost?: string;
  /**
   * The time limit of the task, counted from the start of handling. It cannot exceed the model's own limit.
   */
  timeoutSeconds?: number;
}

export interface Token {
  id: string;
  /**
   * The key that created it.
   */
  keyId: string;
  scopes: string[];
  /**
   * The models that the token may use. Null: every model.
   */
  models: string[] | null;
  /**
   * Empty: it is not for pages.
   */
  origins: string[];
  expiresAt: number;
  /**
   * Sent as an API key is. It is not shown again.
   */
  token: string;
  [k: string]: unknown;
}

export interface TokenRequest {
  /**
   * The scopes of the token. It cannot have a scope that the key does not have.
   *
   * @minItems 1
   * @maxItems 7
   */
  scopes: TokenScope[];
  /**
   * The models that the token may use, by their names without a route. If omitted, those of the key.
   *
   * @minItems 1
   * @maxItems 100
   */
  models?: string[];
  /**
   * What may be spent with the token, in decimal USD. It also counts against the caps of the key.
   */
  spendCap?: string;
  /**
   * The lifetime. The token never outlives its key.
   */
  seconds?: number;
  /**
   * The origins of the pages that may use the token, such as `https://shop.example`; with `http`, only `localhost`. If omitted, no page can use it, only programs.
   *
   * @minItems 1
   * @maxItems 10
   */
  origins?: string[];
}

export interface UploadedFile {
  id: string;
  /**
   * The URL of the file, for any input field that accepts media. It can be downloaded without a key, like an output.
   */
  url: string;
  /**
   * The time when `url` expires, in Unix seconds. Getting the file again returns a new URL, for 24 h.
   */
  expireAt: number;
  /**
   * The media type, detected from the bytes. The type that the upload declares is ignored.
   */
  mimeType: string;
  sizeBytes: number;
}
