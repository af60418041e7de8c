"""What both clients have in common: the requests, and when one is sent again."""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any, Generic, Protocol, TypedDict, TypeVar
from urllib.parse import quote

import httpx
from pydantic import BaseModel

from ._errors import ApiError, ConnectionError, DarkroomError, TimeoutError, error_of, item_error
from ._models import Estimate, Model, ModelDetail, ModelList, Task, TaskEvents, TaskPage, Token

Data = TypeVar("Data")

DEFAULT_TIMEOUT = 60.0
DEFAULT_MAX_RETRIES = 5
#: As long as the service allows an upload to take (contract §7.5).
UPLOAD_TIMEOUT = 3600.0
#: Half a minute is the longest that the API waits (contract §3.6).
POLL_SECONDS = 20
#: Before the next request if the API responded early without a change: the process is stopping.
EARLY_PAUSE = 1.0
#: A wait for a task survives a restart of the service: some two minutes.
WAIT_RETRIES = 20
#: The API sends something every 15 s (contract §4.7); three of them missing is a dead connection.
LONGEST_SILENCE = 45.0

_FIRST_WAIT = 0.5
_LONGEST_WAIT = 8.0
#: If the API asks for a longer wait, the caller gets the error.
_LONGEST_REQUESTED_WAIT = 60.0


class Callback(TypedDict):
    """Where the result of a task is posted."""

    url: str


@dataclass(frozen=True)
class SubmittedTask:
    """A task that was accepted. The same call with ``idempotency_key`` returns the same task again."""

    task_id: str
    idempotency_key: str


@dataclass(frozen=True)
class RejectedTask:
    """A task of ``submit_many`` that was not accepted."""

    error: ApiError
    idempotency_key: str


class _Task(TypedDict):
    model: str
    input: Mapping[str, Any]


class NewTask(_Task, total=False):
    """A task of ``submit_many``, with the options of ``submit``."""

    route: str
    storage: str
    metadata: Mapping[str, str]
    callback: Callback
    max_cost: str
    timeout_seconds: int
    idempotency_key: str


class HasTaskId(Protocol):
    """A task, or what else has its id."""

    @property
    def task_id(self) -> str: ...


@dataclass(frozen=True)
class Call(Generic[Data]):
    """One request, and what is made of its response."""

    method: str
    path: str
    parse: Callable[[Any], Data]
    json: Any = None
    content: bytes | None = None
    params: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout: float | None = None
    max_retries: int | None = None
    #: The fields of a form, beside ``file``.
    form: Mapping[str, str] | None = None
    #: Its name and content. Each attempt sends it from its beginning.
    file: tuple[str, IO[bytes]] | None = None


@dataclass(frozen=True)
class Settings:
    """What a client was created with."""

    base_url: str
    api_key: str
    timeout: float
    max_retries: int

    @classmethod
    def of(cls, base_url: str | None, api_key: str | None, timeout: float, max_retries: int) -> Settings:
        """Raises ``ValueError`` where a setting cannot be used."""
        if not api_key:
            raise ValueError("api_key is missing: pass an API key of the service")
        if not all("!" <= character <= "~" for character in api_key):
            raise ValueError("api_key contains invalid characters")
        if timeout <= 0:
            raise ValueError(f"timeout is not a positive number of seconds: {timeout}")
        if max_retries < 0:
            raise ValueError(f"max_retries is negative: {max_retries}")
        return cls(_api_url(base_url), api_key, timeout, max_retries)

    def request(self, client: httpx.Client | httpx.AsyncClient, call: Call[Data]) -> httpx.Request:
        timeout = self.timeout if call.timeout is None else call.timeout
        if call.file is not None:
            call.file[1].seek(0)
        return client.build_request(
            call.method,
            self.base_url + call.path,
            json=call.json,
            content=call.content,
            data=call.form,
            files=None if call.file is None else {"file": call.file},
            params=dict(call.params),
            headers={"Authorization": f"Bearer {self.api_key}", **call.headers},
            timeout=timeout,
        )


def _api_url(base_url: str | None) -> str:
    if not base_url:
        raise ValueError("base_url is missing: pass the URL of the service")
    url = httpx.URL(base_url)
    if url.scheme not in ("http", "https") or not url.host:
        raise ValueError(f"base_url is not an HTTP URL: {base_url}")
    if url.userinfo or url.query or url.fragment:
        raise ValueError("base_url has a user name, a query or a fragment; pass the key as api_key")
    path = url.path.rstrip("/")
    return str(url.copy_with(path=path if path.endswith("/v1") else f"{path}/v1"))


def wait_before(retries: int, error: DarkroomError) -> float | None:
    """How long to wait before the next attempt, in seconds; ``None``: it would not succeed."""
    requested = 0.0
    if isinstance(error, ApiError):
        if error.status_code not in (408, 409, 429) and error.status_code < 500:
            return None
        if error.response.headers.get("x-should-retry") == "false":
            return None
        requested = _seconds(error.response.headers.get("retry-after"))
    elif not isinstance(error, ConnectionError):
        return None
    if requested > _LONGEST_REQUESTED_WAIT:
        return None
    # Half of it is random: clients that failed together do not come back together.
    backoff: float = min(_FIRST_WAIT * 2**retries, _LONGEST_WAIT) * random.uniform(0.5, 1)
    return max(backoff, requested)


def _seconds(header: str | None) -> float:
    return float(header) if header is not None and header.isdecimal() else 0.0


def to_error(error: httpx.HTTPError) -> ConnectionError:
    """The error of the SDK for one of httpx."""
    if isinstance(error, httpx.TimeoutException):
        return TimeoutError(f"there was no response in time: {type(error).__name__}")
    return ConnectionError(f"the service is not responding: {error or type(error).__name__}")


def data_of(response: httpx.Response) -> Any:
    """The content of a response that has been read. Raises ``ApiError`` and ``ConnectionError``."""
    if not response.is_success:
        raise error_of(response)
    try:
        body = response.json()
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise ConnectionError("this is not a response of Darkroom; check base_url")
    return body["data"] if "error_code" in body else body


Parsed = TypeVar("Parsed", bound=BaseModel)


def parser(model: type[Parsed]) -> Callable[[Any], Parsed]:
    return model.model_validate


def id_of(task: str | HasTaskId) -> str:
    task_id = task if isinstance(task, str) else task.task_id
    if not task_id or task_id in (".", ".."):
        raise ValueError("the id of the task is missing")
    return task_id


def task_path(task: str | HasTaskId) -> str:
    return f"/tasks/{quote(id_of(task), safe='')}"


def new_key() -> str:
    return f"sdk-{secrets.token_hex(16)}"


def _body(model: str, task_input: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    names = {"max_cost": "maxCost", "timeout_seconds": "timeoutSeconds"}
    given = {names.get(name, name): value for name, value in options.items() if value is not None}
    return {"model": model, "input": dict(task_input), **given}


def submit_call(
    model: str,
    task_input: Mapping[str, Any],
    key: str,
    options: Mapping[str, Any],
    timeout: float | None,
    max_retries: int | None,
) -> Call[SubmittedTask]:
    return Call(
        "POST",
        "/tasks",
        lambda data: SubmittedTask(data["taskId"], key),
        json=_body(model, task_input, options),
        headers={"Idempotency-Key": key},
        timeout=timeout,
        max_retries=max_retries,
    )


def submit_many_call(tasks: Sequence[NewTask]) -> Call[list[SubmittedTask | RejectedTask]]:
    keys = [task.get("idempotency_key") or new_key() for task in tasks]

    def outcome(result: Mapping[str, Any], key: str) -> SubmittedTask | RejectedTask:
        if "taskId" in result:
            return SubmittedTask(result["taskId"], key)
        error = result["error"]
        return RejectedTask(item_error(result["status"], error["message"], error["error_code"]), key)

    def body(task: NewTask, key: str) -> dict[str, Any]:
        options = {name: value for name, value in task.items() if name not in ("model", "input", "idempotency_key")}
        return {**_body(task["model"], task["input"], options), "idempotencyKey": key}

    return Call(
        "POST",
        "/tasks:batch",
        lambda data: [outcome(result, key) for result, key in zip(data["results"], keys, strict=True)],
        json={"tasks": [body(task, key) for task, key in zip(tasks, keys, strict=True)]},
    )


def estimate_call(model: str, task_input: Mapping[str, Any], options: Mapping[str, Any]) -> Call[Estimate]:
    return Call("POST", "/tasks/estimate", parser(Estimate), json=_body(model, task_input, options))


def read_call(
    task: str | HasTaskId,
    *,
    wait: int | None = None,
    include_input: bool = False,
    max_retries: int | None = None,
) -> Call[Task]:
    return Call(
        "GET",
        task_path(task),
        parser(Task),
        params={"include": "input"} if include_input else {},
        headers={} if wait is None else {"Prefer": f"wait={wait}"},
        max_retries=max_retries,
    )


def cancel_call(task: str | HasTaskId) -> Call[Task]:
    return Call("POST", f"{task_path(task)}/cancel", parser(Task))


def events_call(task: str | HasTaskId, after: int) -> Call[TaskEvents]:
    return Call("GET", f"{task_path(task)}/events", parser(TaskEvents), params={"after": str(after)})


def stream_call(task: str | HasTaskId, after: int) -> Call[None]:
    last = {} if after == 0 else {"Last-Event-ID": str(after)}
    headers = {"Accept": "text/event-stream", **last}
    # `subscribe` counts the retries itself.
    path = f"{task_path(task)}/events"
    return Call("GET", path, lambda _: None, headers=headers, timeout=LONGEST_SILENCE, max_retries=0)


def list_call(
    *,
    size: int | None,
    cursor: str | None,
    status: Sequence[str] | None,
    model: str | None,
    key_id: str | None,
    ids: Sequence[str] | None,
    created_after: int | None,
    created_before: int | None,
    metadata: Mapping[str, str] | None,
) -> Call[TaskPage]:
    params = {
        "size": size,
        "cursor": cursor,
        "status": None if status is None else ",".join(status),
        "model": model,
        "keyId": key_id,
        "ids": None if ids is None else ",".join(ids),
        "created_after": created_after,
        "created_before": created_before,
        **{f"metadata.{name}": value for name, value in (metadata or {}).items()},
    }
    given = {name: str(value) for name, value in params.items() if value is not None}
    return Call("GET", "/tasks", parser(TaskPage), params=given)


def models_call() -> Call[list[Model]]:
    return Call("GET", "/models", lambda data: ModelList.model_validate(data).data)


def model_call(name: str) -> Call[ModelDetail]:
    return Call("GET", f"/models/{quote(name, safe='/')}", parser(ModelDetail))


def token_call(
    scopes: Sequence[str],
    models: Sequence[str] | None,
    spend_cap: str | None,
    seconds: int | None,
    origins: Sequence[str] | None,
) -> Call[Token]:
    rights = {"scopes": scopes, "models": models, "spendCap": spend_cap, "seconds": seconds, "origins": origins}
    given = {name: value for name, value in rights.items() if value is not None}
    return Call("POST", "/tokens", parser(Token), json=given)


class Lines:
    """Divides what arrives into lines. Not as ``str.splitlines``: texts may contain other separators."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def take(self, part: bytes) -> list[bytes]:
        """Returns the lines that are complete."""
        first, *others = part.split(b"\n")
        self._pieces.append(first)
        if not others:
            return []
        complete = [b"".join(self._pieces), *others[:-1]]
        self._pieces = [others[-1]]
        return complete

    def rest(self) -> list[bytes]:
        """Returns a last line that has no end."""
        last = b"".join(self._pieces)
        return [last] if last else []


class EventLines:
    """Collects the lines of a stream of server-sent events."""

    def __init__(self) -> None:
        self._data: list[str] = []

    def take(self, line: bytes) -> str | None:
        """Returns the data of an event when its last line has been taken."""
        text = line.decode().removesuffix("\r")
        if text.startswith("data:"):
            self._data.append(text[5:].removeprefix(" "))
            return None
        if text or not self._data:
            return None
        data = "\n".join(self._data)
        self._data.clear()
        return data
