"""The models of responses. Generated from the schemas of the API by test/sdk/render-python.ts; do not edit."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Limits(BaseModel):
    model_config = ConfigDict(
        populate_by_name=True,
    )
    creates_per_minute: int = Field(..., alias="createsPerMinute")
    """
    Create requests per minute. This is also the burst size.
    """
    reads_per_minute: int = Field(..., alias="readsPerMinute")
    """
    All other requests per minute.
    """
    running_tasks: int = Field(..., alias="runningTasks")
    """
    The maximum number of tasks that run at once. Further tasks wait as `queued`.
    """
    queued_tasks: int = Field(..., alias="queuedTasks")
    """
    The maximum number of queued tasks. Beyond it, creating a task returns 429.
    """
    persistent_bytes: int = Field(..., alias="persistentBytes")
    """
    The maximum number of bytes in persistent storage.
    """
    text_requests_per_minute: int = Field(..., alias="textRequestsPerMinute")
    """
    Text requests per minute. This is also the burst size.
    """
    text_tokens_per_minute: int = Field(..., alias="textTokensPerMinute")
    """
    Text tokens per minute, input and output together.
    """
    text_streams: int = Field(..., alias="textStreams")
    """
    The maximum number of concurrent text calls, streamed or not. Further calls return 429.
    """


class Usage(BaseModel):
    """
    The current usage of these limits.
    """

    model_config = ConfigDict(
        populate_by_name=True,
    )
    running_tasks: int = Field(..., alias="runningTasks")
    queued_tasks: int = Field(..., alias="queuedTasks")
    persistent_bytes: int = Field(..., alias="persistentBytes")
    text_streams: int = Field(..., alias="textStreams")


class CallbackProblem(BaseModel):
    """
    A receiver to which every callback has failed since `failingSince`.
    """

    model_config = ConfigDict(
        populate_by_name=True,
    )
    origin: str
    """
    The scheme, host and port of the receiver.
    """
    failing_since: int = Field(..., alias="failingSince")
    last_failed: int = Field(..., alias="lastFailed")
    last_status: int = Field(..., alias="lastStatus")
    """
    The HTTP status of the last attempt. 0 if there was no response.
    """
    last_error_class: Literal["tls", "timeout", "unreachable"] | str | None = Field(None, alias="lastErrorClass")
    """
    Why there was no response.
    """
    given_up: int = Field(..., alias="givenUp")
    """
    The number of callbacks that were given up since `failingSince`.
    """
    is_reduced: bool = Field(..., alias="isReduced")
    """
    Whether each callback gets only one attempt, because the receiver has failed for a long time. Ends when a callback succeeds.
    """


class Account(BaseModel):
    model_config = ConfigDict(
        populate_by_name=True,
    )
    account_id: str = Field(..., alias="accountId")
    name: str
    status: Literal["active", "suspended"] | str
    balance: str
    """
    The available and the held amount together.
    """
    held: str
    """
    The amount held for tasks and text calls that have not ended.
    """
    available: str
    """
    The amount available for new requests.
    """
    currency: Literal["USD"]
    limits: Limits
    usage: Usage
    """
    The current usage of these limits.
    """
    storage_price: str | None = Field(None, alias="storagePrice")
    """
    The price of one GB (1,000,000,000 bytes) of persistent storage per month, metered daily. Only returned to the account itself.
    """
    callback_problems: list[CallbackProblem] | None = Field(None, alias="callbackProblems")
    """
    The receivers that fail to accept callbacks, the longest failing first. Empty if there are none. Only returned to the account itself.
    """
    created: int


class Datum(BaseModel):
    model_config = ConfigDict(
        populate_by_name=True,
    )
    code: str
    message: str
    param: str | None
    line: int | None


class Errors(BaseModel):
    """
    With the status `failed`.
    """

    model_config = ConfigDict(
        populate_by_name=True,
    )
    object: Literal["list"]
    data: list[Datum]


class RequestCounts(BaseModel):
    model_config = ConfigDict(
        populate_by_name=True,
    )
    total: int
    completed: int
    failed: int


class InputTokensDetails(BaseModel):
    model_config = ConfigDict(
        populate_by_name=True,
    )
    cached_tokens: int


class OutputTokensDetails(BaseModel):
    model_config = ConfigDict(
        populate_by_name=True,
    )
    reasoning_tokens: int


class Usage1(BaseModel):
    """
    The tokens of the lines that were answered, in their order so far. Only for text models.
    """

    model_config = ConfigDict(
        populate_by_name=True,
    )
    input_tokens: int
    input_tokens_details: InputTokensDetails
    output_tokens: int
    output_tokens_details: OutputTokensDetails
    total_tokens: int


class Batch(BaseModel):
    model_config = ConfigDict(
        populate_by_name=True,
    )
    id: str
    object: Literal["batch"]
    endpoint: (
        Literal[
            "/v1/tasks",
            "/v1/images/generations",
            "/v1/images/edits",
            "/v1/videos",
            "/v1/chat/completions",
            "/v1/responses",
        ]
        | str
    )
    """
    As requested.
    """
    model: str | None = None
    """
    The model that all lines name, once they were read.
    """
    errors: Errors | None = None
    """
    With the status `failed`.
    """
    input_file_id: str
    completion_window: str
    status: (
        Literal["validating", "in_progress", "finalizing", "completed", "failed", "expired", "cancelling", "cancelled"]
        | str
    )
    waiting_for: (
        Literal["account", "daily_spend_cap", "rate_limit", "balance", "model", "response", "service"] | str | None
    ) = None
    """
    Why some of its lines wait, while they do; `service` also while its files cannot be read or written. Ours.
    """
    output_file_id: str | None = None
    """
    The results of the lines that succeeded.
    """
    error_file_id: str | None = None
    """
    The errors of the other lines.
    """
    created_at: int
    in_progress_at: int | None = None
    expires_at: int
    finalizing_at: int | None = None
    completed_at: int | None = None
    failed_at: int | None = None
    expired_at: int | None = None
    cancelling_at: int | None = None
    cancelled_at: int | None = None
    request_counts: RequestCounts
    usage: Usage1 | None = None
    """
    The tokens of the lines that were answered, in their order so far. Only for text models.
    """
    metadata: dict[str, str] | None


class Response(BaseModel):
    """
    Null: the request had no turn.
    """

    model_config = ConfigDict(
        populate_by_name=True,
    )
    status_code: int
    """
    The status that a request of its own would have got.
    """
    request_id: str
    """
    The id of the task, if there is one.
    """
    body: dict[str, Any]
    """
    The body that a request of its own would have got.
    """


class Error(BaseModel):
    """
    Why the request had no turn: the batch was cancelled, or has expired.
    """

    model_config = ConfigDict(
        populate_by_name=True,
    )
    code: str
    message: str


class BatchResult(BaseModel):
    """
    What became of a request of a batch.
    """

    model_config = ConfigDict(
        populate_by_name=True,
    )
    id: str
    custom_id: str | None
    """
    Null: the line had none.
    """
    response: Response | None
    error: Error | None


class Factor(BaseModel):
    model_config = ConfigDict(
        populate_by_name=True,
    )
    field: str
    value: str | bool | int
    factor: str


class BreakdownItem(BaseModel):
    model_config = ConfigDict(
        populate_by_name=True,
    )
    unit: str
    """
    The unit that is counted: `image`, `second`, `character`, `task`, `token` or `credit`.
    """
    quantity: str
    """
    The maximum number of units.
    """
    unit_price: str = Field(..., alias="unitPrice")
    """
    The price of one unit, in USD.
    """
    factors: list[Factor]
    """
    Factors that apply because a field of the input has the given value. Each multiplies the price.
    """
    amount: str
    """
    The product of quantity, unit price and factors, rounded up to a millionth of a USD; at least the `minimum` of the price and rounded to its `rounding`, where it has them.
    """


class FileObject(BaseModel):
    model_config = ConfigDict(
        populate_by_name=True,
    )
    id: str
    object: Literal["file"]
    bytes: int
    created_at: int
    expires_at: int
    """
    Unix seconds: when the file is deleted.
    """
    filename: str
    purpose: Literal["batch", "user_data", "vision", "batch_output"] | str
    status: Literal["processed"]


class Text(BaseModel):
    """
    Properties of a text model. Absent for other models.
    """

    model_config = ConfigDict(
        populate_by_name=True,
    )
    context_tokens: int = Field(..., alias="contextTokens")
    """
    The maximum number of tokens of a conversation and its response together.
    """
    max_output_tokens: int = Field(..., alias="maxOutputTokens")
    """
    The maximum number of tokens to generate, including reasoning.
    """
    features: list[
        Literal[
            "images",
            "n",
            "stop",
            "seed",
            "temperature",
            "top_p",
            "frequency_penalty",
            "presence_penalty",
            "logit_bias",
            "logprobs",
            "json_object",
            "json_schema",
            "tools",
            "parallel_tool_calls",
            "reasoning",
            "verbosity",
        ]
        | str
    ]
    """
    The features that a request may use in addition to text. Any other feature is rejected, and the error names it.
    """


class Output(BaseModel):
    model_config = ConfigDict(
        populate_by_name=True,
    )
    url: str
    """
    The URL of the output, which can be downloaded without a key. Supports GET and HEAD, and `Range`.
    """
    type: str
    """
    `image`, `video`, `audio`, `text`, `first_frame`, `last_frame` or `thumbnail`. More types may be added.
    """
    expire_at: int = Field(..., alias="expireAt")
    """
    The time when `url` expires, in Unix seconds.
    """
    id: str
    mime_type: str = Field(..., alias="mimeType")
    size_bytes: int = Field(..., alias="sizeBytes")
    width: int | None = None
    height: int | None = None
    duration_seconds: float | None = Field(None, alias="durationSeconds")
    sha256: str
    storage: Literal["temp", "persistent"] | str
    retain_until: int = Field(..., alias="retainUntil")
    """
    The end of the retention, in Unix seconds. 0 for persistent outputs.
    """


class By(BaseModel):
    """
    The price of one unit in decimal USD, by the value of one field, or by those of two.
    """

    model_config = ConfigDict(
        populate_by_name=True,
    )
    field: str | None = None
    """
    A field of the input.
    """
    fields: list[str] | None = None
    """
    Two fields instead of `field`. The keys of `usd` are both values: `"high/1024x1024"`.
    """
    default: list[str] | None = None
    """
    The values of `fields` that apply if they are absent.
    """
    usd: dict[str, str]


class Hold(BaseModel):
    """
    The most tokens, credits or seconds of one output: a number, or a field with it. It is multiplied by `count` and `duration`, and it is what is held.
    """

    model_config = ConfigDict(
        populate_by_name=True,
    )
    quantity: int | None = None
    """
    The quantity itself.
    """
    field: str | None = None
    """
    A field of the input.
    """
    default: int | None = None
    """
    The value that applies if the field is absent.
    """


class Rounding(BaseModel):
    """
    The price of a task is rounded up to a multiple of `step`. Absent: to a millionth of a USD.
    """

    model_config = ConfigDict(
        populate_by_name=True,
    )
    mode: Literal["up"]
    step: str
    """
    Decimal USD, above 0.
    """


class Count(BaseModel):
    """
    The field with the number of outputs. Absent: one output.
    """

    model_config = ConfigDict(
        populate_by_name=True,
    )
    field: str
    """
    A field of the input.
    """
    default: int | None = None
    """
    The value that applies if the field is absent.
    """


class Duration(BaseModel):
    """
    The field with the number of seconds: an integer, or a string such as `"6"`.
    """

    model_config = ConfigDict(
        populate_by_name=True,
    )
    field: str
    """
    A field of the input.
    """
    default: int | None = None
    """
    The value that applies if the field is absent.
    """


class Text2(BaseModel):
    """
    The field with the text whose characters (Unicode code points) are counted.
    """

    model_config = ConfigDict(
        populate_by_name=True,
    )
    field: str
    """
    A field of the input.
    """


class Factor1(BaseModel):
    model_config = ConfigDict(
        populate_by_name=True,
    )
    field: str
    """
    A field of the input.
    """
    value: str | bool | int
    factor: str
    """
    A decimal number.
    """
    default: str | bool | int | None = None


class Pricing(BaseModel):
    model_config = ConfigDict(
        populate_by_name=True,
    )
    unit: Literal["image", "second", "character", "task", "token", "credit", "input_second"] | str
    """
    The unit that is counted: images, seconds of video or audio, characters of a text, or nothing (a flat price). `token`, `credit` and `input_second` (a second of the audio and video in the input) count what the work used, and `hold` is the most that a task can be charged for.
    """
    usd: str
    """
    The price of one unit in decimal USD, unless `by` has another price.
    """
    by: By | None = None
    """
    The price of one unit in decimal USD, by the value of one field, or by those of two.
    """
    hold: Hold | None = None
    """
    The most tokens, credits or seconds of one output: a number, or a field with it. It is multiplied by `count` and `duration`, and it is what is held.
    """
    unreported: int | None = None
    """
    The tokens, credits or seconds of one output that are charged if the provider reports no usage. Absent: those that were held.
    """
    minimum: str | None = None
    """
    The lowest price of a task with outputs, in decimal USD.
    """
    rounding: Rounding | None = None
    """
    The price of a task is rounded up to a multiple of `step`. Absent: to a millionth of a USD.
    """
    count: Count | None = None
    """
    The field with the number of outputs. Absent: one output.
    """
    duration: Duration | None = None
    """
    The field with the number of seconds: an integer, or a string such as `"6"`.
    """
    text: Text2 | None = None
    """
    The field with the text whose characters (Unicode code points) are counted.
    """
    factors: list[Factor1] | None = None
    """
    Factors of the price. A factor applies if `field`, or `default` if the field is absent, equals `value`. All factors that apply are multiplied.
    """
    batch_factor: str | None = Field(None, alias="batchFactor")
    """
    A factor of the price of the lines of batches: above 0, at most 1. Absent: they cost as much as other requests.
    """
    late_cancel: Literal["billed", "full", "free"] | str | None = Field(None, alias="lateCancel")
    """
    The cost of a task that is cancelled while it is `handling` although its provider had finished: the amount that the provider reports as billed (`billed`, the default), the price of the files that it generated, each as requested (`full`), or nothing (`free`). It never exceeds the held amount.
    """


class OutputGoneItem(BaseModel):
    model_config = ConfigDict(
        populate_by_name=True,
    )
    id: str
    type: str
    gone_at: int = Field(..., alias="goneAt")
    reason: Literal["deleted", "expired"] | str


class Error1(BaseModel):
    """
    The error. Only if the task failed.
    """

    model_config = ConfigDict(
        populate_by_name=True,
    )
    code: (
        Literal[
            "TASK_FAILED",
            "TASK_TIMEOUT",
            "TASK_CANCELLED",
            "INVALID_REQUEST",
            "MODEL_UNAVAILABLE",
            "STORAGE_UNAVAILABLE",
        ]
        | str
    )
    message: str
    reason: str | None = None
    field: str | None = None
    """
    The field of the input that could not be used, if it is known, for example `image_urls.2`.
    """
    retryable: bool
    """
    Whether the same request may succeed as a new task.
    """


class Billing(BaseModel):
    """
    The cost of the task, in decimal USD. `held` is the amount that was held at creation. Once the task has ended, it equals `captured` plus `released`.
    """

    model_config = ConfigDict(
        populate_by_name=True,
    )
    currency: Literal["USD"]
    held: str
    captured: str
    released: str
    price_factor: str | None = Field(None, alias="priceFactor")
    """
    The factor of the price. Only if the task is the line of a batch and its model has a `batchFactor`.
    """


class Callback(BaseModel):
    model_config = ConfigDict(
        populate_by_name=True,
    )
    state: Literal["waiting", "pending", "delivered", "exhausted", "stopped"] | str
    attempts: int
    next_attempt: int = Field(..., alias="nextAttempt")
    """
    The time of the next attempt, in Unix seconds. 0 if none is due.
    """


class Task(BaseModel):
    model_config = ConfigDict(
        populate_by_name=True,
    )
    task_id: str = Field(..., alias="taskId")
    model: str
    """
    The full name of the resolved model: `base` for the default route, or `base@route` for any other route.
    """
    route: str | None = None
    """
    The route that is used. Only for models with several routes.
    """
    status: Literal["queued", "handling", "archiving", "success", "fail"] | str
    created: int
    started: int
    """
    Unix seconds. 0 until handling begins.
    """
    completed: int
    """
    Unix seconds. 0 until the task has ended.
    """
    progress: float | None = None
    """
    The progress in steps of 0.1. Only while the task is being handled, if the progress is known.
    """
    storage: Literal["temp", "persistent"] | str
    key_id: str = Field(..., alias="keyId")
    """
    The key that created the task.
    """
    metadata: dict[str, str] | None = None
    input: dict[str, Any] | None = None
    """
    The input as it was sent. Only with `include=input`. Null if it was erased.
    """
    output: list[Output] | None = None
    """
    The outputs. Only if the task succeeded.
    """
    output_gone: list[OutputGoneItem] | None = Field(None, alias="outputGone")
    """
    The outputs that were deleted or whose retention has ended.
    """
    error: Error1 | None = None
    """
    The error. Only if the task failed.
    """
    billing: Billing
    """
    The cost of the task, in decimal USD. `held` is the amount that was held at creation. Once the task has ended, it equals `captured` plus `released`.
    """
    callback: Callback | None = None


class TaskEvent(BaseModel):
    model_config = ConfigDict(
        populate_by_name=True,
    )
    seq: int
    """
    The sequence number of the event within the task: 1 for the first event, without gaps.
    """
    at: int
    """
    Unix seconds.
    """
    type: str
    """
    The type of the event: `accepted`, `started`, `provider_refused`, `submitted`, `produced`, `archiving`, `archived`, `settled`, `cancel_requested`, `callback_attempted`, `callback_redelivery` and others. More types may be added. `settled`: the task has ended.
    """
    detail: dict[str, str | float | bool]
    """
    Details that depend on the type. Empty if there are none.
    """


class TaskEvents(BaseModel):
    model_config = ConfigDict(
        populate_by_name=True,
    )
    events: list[TaskEvent]
    """
    The events, oldest first.
    """


class TaskPage(BaseModel):
    model_config = ConfigDict(
        populate_by_name=True,
    )
    page: int
    """
    The page number.
    """
    size: int
    """
    The maximum number of tasks per page.
    """
    total: int
    """
    The number of matching tasks on all pages, exact up to 10000.
    """
    total_is_capped: Literal[True] | None = Field(None, alias="totalIsCapped")
    """
    Present if there are more than `total`.
    """
    next_cursor: str | None = Field(None, alias="nextCursor")
    """
    Pass it as `cursor` to get the next page. Absent on the last page.
    """
    tasks: list[Task]
    """
    The tasks, newest first, as returned by `GET /v1/tasks/{taskId}`.
    """


class TextPricing(BaseModel):
    """
    Decimal USD per million tokens of each kind.
    """

    model_config = ConfigDict(
        populate_by_name=True,
    )
    unit: Literal["token"]
    """
    Tokens are counted.
    """
    input_usd: str = Field(..., alias="inputUsd")
    """
    Decimal USD per million tokens.
    """
    cached_input_usd: str | None = Field(None, alias="cachedInputUsd")
    """
    Decimal USD per million tokens.
    """
    output_usd: str = Field(..., alias="outputUsd")
    """
    Decimal USD per million tokens.
    """
    reasoning_usd: str | None = Field(None, alias="reasoningUsd")
    """
    Decimal USD per million tokens.
    """
    batch_factor: str | None = Field(None, alias="batchFactor")
    """
    A factor of the price of the lines of batches: above 0, at most 1. Absent: they cost as much as other requests.
    """


class Token(BaseModel):
    model_config = ConfigDict(
        populate_by_name=True,
    )
    id: str
    key_id: str = Field(..., alias="keyId")
    """
    The key that created it.
    """
    scopes: list[str]
    models: list[str] | None
    """
    The models that the token may use. Null: every model.
    """
    origins: list[str]
    """
    Empty: it is not for pages.
    """
    expires_at: int = Field(..., alias="expiresAt")
    token: str
    """
    Sent as an API key is. It is not shown again.
    """


class UploadedFile(BaseModel):
    model_config = ConfigDict(
        populate_by_name=True,
    )
    id: str
    url: str
    """
    The URL of the file, for any input field that accepts media. It can be downloaded without a key, like an output.
    """
    expire_at: int = Field(..., alias="expireAt")
    """
    The time when `url` expires, in Unix seconds. Getting the file again returns a new URL, for 24 h.
    """
    mime_type: str = Field(..., alias="mimeType")
    """
    The media type, detected from the bytes. The type that the upload declares is ignored.
    """
    size_bytes: int = Field(..., alias="sizeBytes")


class Violation(BaseModel):
    model_config = ConfigDict(
        populate_by_name=True,
    )
    message: str
    """
    A readable message. It also names the field.
    """
    problem: str | None = None
    """
    The message without the field, to be shown at the field. Absent if there is none.
    """
    field: str
    """
    The position of the field in the request, for example `input.image_urls.2`. Empty for the whole request.
    """
    keyword: str
    """
    The violated JSON Schema keyword, or a rule such as `url` or `unique`.
    """


class Estimate(BaseModel):
    model_config = ConfigDict(
        populate_by_name=True,
    )
    max_cost: str | None = Field(..., alias="maxCost")
    """
    The most that the task can cost, in USD, which is held when it is created. Null if errors prevent the price from being calculated.
    """
    currency: Literal["USD"]
    breakdown: list[BreakdownItem]
    """
    How `maxCost` is calculated.
    """
    model: str | None
    """
    The full name of the resolved model. Null if the request names no model.
    """
    route: str | None
    """
    The route that would be used. Null if the route is invalid.
    """
    balance_sufficient: bool | None = Field(..., alias="balanceSufficient")
    """
    Whether the available balance and the spend caps of the key currently cover `maxCost`.
    """
    errors: list[str]
    """
    All validation errors for which creating the task would return 400. Empty if there are none.
    """
    violations: list[Violation]
    """
    The same errors for programs, in the same order.
    """


class Model(BaseModel):
    model_config = ConfigDict(
        populate_by_name=True,
    )
    id: str
    """
    The name to send as `model`.
    """
    object: Literal["model"]
    created: int
    """
    Unix seconds.
    """
    owned_by: str
    shutdown_date: int | None
    """
    The time when the model stops accepting requests, in Unix seconds. Null: no retirement is planned.
    """
    modality: Literal["image", "video", "audio", "transcription", "text"] | str
    endpoints: list[str]
    """
    The paths of the endpoints that take the model, for example `/v1/tasks` and `/v1/images/generations`.
    """
    description: str
    routes: list[str]
    """
    The values that `route` accepts. A text model has no routes.
    """
    pricing: Pricing | TextPricing
    text: Text | None = None
    """
    Properties of a text model. Absent for other models.
    """
    deprecation: int | None
    """
    The time since when the model is deprecated, in Unix seconds. Null: it is not deprecated.
    """
    replacement: str | None
    """
    The model to use instead, or null.
    """


class ModelDetail(BaseModel):
    model_config = ConfigDict(
        populate_by_name=True,
    )
    id: str
    """
    The name to send as `model`.
    """
    object: Literal["model"]
    created: int
    """
    Unix seconds.
    """
    owned_by: str
    shutdown_date: int | None
    """
    The time when the model stops accepting requests, in Unix seconds. Null: no retirement is planned.
    """
    modality: Literal["image", "video", "audio", "transcription", "text"] | str
    endpoints: list[str]
    """
    The paths of the endpoints that take the model, for example `/v1/tasks` and `/v1/images/generations`.
    """
    description: str
    routes: list[str]
    """
    The values that `route` accepts. A text model has no routes.
    """
    pricing: Pricing | TextPricing
    text: Text | None = None
    """
    Properties of a text model. Absent for other models.
    """
    deprecation: int | None
    """
    The time since when the model is deprecated, in Unix seconds. Null: it is not deprecated.
    """
    replacement: str | None
    """
    The model to use instead, or null.
    """
    input_schema: dict[str, Any]
    """
    The JSON Schema (draft 2020-12) that `input` is validated against. For a text model, the schema of the body of `POST /chat/completions`.
    """
    examples: list[dict[str, Any]]
    """
    Examples of inputs that the model accepts.
    """


class ModelList(BaseModel):
    model_config = ConfigDict(
        populate_by_name=True,
    )
    object: Literal["list"]
    data: list[Model]
