"""The asynchronous client. Made from `_client.py` by test/sdk/render-python.ts; do not edit."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, TypeVar

import httpx

from . import _requests as requests
from ._async_resources import AsyncBatches, AsyncFiles, AsyncModels, AsyncTokens
from ._errors import ConnectionError, DarkroomError, TaskFailedError, TimeoutError, error_of
from ._models import Account, Estimate, Output, Task, TaskEvent, TaskPage, UploadedFile
from ._requests import Call, Callback, HasTaskId, NewTask, RejectedTask, Settings, SubmittedTask

__all__ = ["AsyncDarkroom"]

Data = TypeVar("Data")


class AsyncDarkroom:
    """A client of a Darkroom, for ``asyncio``. Use it as an asynchronous context manager, or close it.

    Requests that can succeed later (408, 429, 5xx, no response) are sent again by themselves. All attempts of one
    ``submit`` or ``run`` have the same idempotency key, so none of them creates a second task.
    """

    def __init__(
        self,
        *,
        base_url: str | None,
        api_key: str | None,
        timeout: float = requests.DEFAULT_TIMEOUT,
        max_retries: int = requests.DEFAULT_MAX_RETRIES,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        """``base_url`` is with or without ``/v1``; ``timeout`` is in seconds, for each request."""
        self._settings = Settings.of(base_url, api_key, timeout, max_retries)
        self._is_ours = http_client is None
        self._http = http_client or httpx.AsyncClient(follow_redirects=True)
        self.models = AsyncModels(self)
        self.files = AsyncFiles(self)
        self.batches = AsyncBatches(self)
        self.tokens = AsyncTokens(self)

    async def __aenter__(self) -> AsyncDarkroom:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections, except those of a client that was passed in."""
        if self._is_ours:
            await self._http.aclose()

    async def run(
        self,
        model: str,
        input: Mapping[str, Any],
        *,
        route: str | None = None,
        storage: str | None = None,
        metadata: Mapping[str, str] | None = None,
        callback: Callback | None = None,
        max_cost: str | None = None,
        timeout_seconds: int | None = None,
        idempotency_key: str | None = None,
        wait_seconds: float | None = None,
        on_update: Callable[[Task], None] | None = None,
    ) -> Sequence[Output]:
        """Creates a task, waits for its end and returns its outputs.

        Raises ``TaskFailedError`` if the task fails, ``ApiError`` if it is not accepted, and ``ConnectionError``.
        """
        submitted = await self.submit(
            model,
            input,
            route=route,
            storage=storage,
            metadata=metadata,
            callback=callback,
            max_cost=max_cost,
            timeout_seconds=timeout_seconds,
            idempotency_key=idempotency_key,
        )
        task = await self.wait(submitted, wait_seconds=wait_seconds, on_update=on_update)
        if task.status == "fail":
            raise TaskFailedError(task)
        return task.output or []

    async def submit(
        self,
        model: str,
        input: Mapping[str, Any],
        *,
        route: str | None = None,
        storage: str | None = None,
        metadata: Mapping[str, str] | None = None,
        callback: Callback | None = None,
        max_cost: str | None = None,
        timeout_seconds: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> SubmittedTask:
        """Creates a task and returns its id at once. The same idempotency key never creates a second task."""
        options = {
            "route": route,
            "storage": storage,
            "metadata": metadata,
            "callback": callback,
            "max_cost": max_cost,
            "timeout_seconds": timeout_seconds,
        }
        key = idempotency_key or requests.new_key()
        return await self._send(requests.submit_call(model, input, key, options, timeout, max_retries))

    async def submit_many(self, tasks: Sequence[NewTask]) -> Sequence[SubmittedTask | RejectedTask]:
        """Creates up to 1,000 tasks in one request, and returns what became of each, in their order.

        Each has an idempotency key of its own. Those that are rejected do not affect the others.
        """
        return await self._send(requests.submit_many_call(tasks))

    async def estimate(
        self, model: str, input: Mapping[str, Any], *, route: str | None = None, max_cost: str | None = None
    ) -> Estimate:
        """Estimates the cost of a task, and returns everything that is wrong with it. Creates nothing."""
        return await self._send(requests.estimate_call(model, input, {"route": route, "max_cost": max_cost}))

    async def wait(
        self,
        task: str | HasTaskId,
        *,
        wait_seconds: float | None = None,
        on_update: Callable[[Task], None] | None = None,
        max_retries: int = requests.WAIT_RETRIES,
    ) -> Task:
        """Waits until a task has ended, and returns it whether it succeeded or failed.

        Raises ``TimeoutError`` if it does not end within ``wait_seconds``; it continues.
        """
        begun_at = time.monotonic()
        current = await self._send(requests.read_call(task, max_retries=max_retries))
        while True:
            if on_update is not None:
                on_update(current)
            if current.status in ("success", "fail"):
                return current
            asked_at = time.monotonic()
            left = requests.POLL_SECONDS if wait_seconds is None else begun_at + wait_seconds - asked_at
            if left <= 0:
                raise TimeoutError(f"the task {current.task_id} did not end within {wait_seconds} s; it continues")
            seconds = max(1, min(round(left), requests.POLL_SECONDS))
            status = current.status
            current = await self._send(requests.read_call(task, wait=seconds, max_retries=max_retries))
            if current.status == status and time.monotonic() - asked_at < seconds / 2:
                await asyncio.sleep(min(requests.EARLY_PAUSE, seconds))

    async def get(self, task: str | HasTaskId, *, include_input: bool = False) -> Task:
        """Reads a task. Its URLs are fresh each time."""
        return await self._send(requests.read_call(task, include_input=include_input))

    async def list(
        self,
        *,
        size: int | None = None,
        cursor: str | None = None,
        status: Sequence[str] | None = None,
        model: str | None = None,
        key_id: str | None = None,
        ids: Sequence[str] | None = None,
        created_after: int | None = None,
        created_before: int | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> TaskPage:
        """Lists one page of tasks, newest first. ``cursor`` is ``next_cursor`` of the page before."""
        return await self._send(
            requests.list_call(
                size=size,
                cursor=cursor,
                status=status,
                model=model,
                key_id=key_id,
                ids=ids,
                created_after=created_after,
                created_before=created_before,
                metadata=metadata,
            )
        )

    async def list_all(
        self,
        *,
        status: Sequence[str] | None = None,
        model: str | None = None,
        key_id: str | None = None,
        created_after: int | None = None,
        created_before: int | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> AsyncIterator[Task]:
        """Yields all matching tasks, newest first, page by page."""
        cursor: str | None = None
        while True:
            page = await self.list(
                size=100,
                cursor=cursor,
                status=status,
                model=model,
                key_id=key_id,
                created_after=created_after,
                created_before=created_before,
                metadata=metadata,
            )
            for task in page.tasks:
                yield task
            cursor = page.next_cursor
            if cursor is None:
                return

    async def cancel(self, task: str | HasTaskId) -> Task:
        """Requests that a task be cancelled. Returns it as it is; it may still be running for a moment."""
        return await self._send(requests.cancel_call(task))

    async def subscribe(
        self, task: str | HasTaskId, *, after: int = 0, max_retries: int | None = None
    ) -> AsyncIterator[TaskEvent]:
        """Yields the events of a task as they occur, each once, until it has ended; a broken stream is resumed."""
        limit = self._settings.max_retries if max_retries is None else max_retries
        last, failures = after, 0
        while True:
            before = last
            try:
                async for event in self._events_after(task, last):
                    if event.seq <= last:
                        continue
                    last, failures = event.seq, 0
                    yield event
                    if event.type == "settled":
                        return
            except DarkroomError as error:
                seconds = requests.wait_before(failures, error)
                if failures >= limit or seconds is None:
                    raise
                failures += 1
                await asyncio.sleep(seconds)
                continue
            # The end of a stream is not the end of the task: an api that stops closes its streams.
            if last > before:
                continue
            if (await self.get(task)).status in ("success", "fail"):
                return
            await asyncio.sleep(requests.EARLY_PAUSE)

    async def upload(self, data: bytes) -> UploadedFile:
        """Uploads a file; its ``url`` is for the input of a task. The same as ``files.upload``."""
        return await self.files.upload(data)

    async def download(self, file: Output | UploadedFile) -> bytes:
        """Downloads an output or a file into memory."""
        return await self._attempt(lambda: self._download(file.url), None)

    async def account(self) -> Account:
        """Reads the account of the key: balance, limits and what is in use."""
        return await self._send(Call("GET", "/account", requests.parser(Account)))

    async def request(
        self, method: str, path: str, *, json: Any = None, params: Mapping[str, str] | None = None
    ) -> Any:
        """Sends any other request of the API, and returns its data. ``path`` is below ``/v1``: ``/account/usage``."""
        return await self._send(Call(method, path, lambda data: data, json=json, params=params or {}))

    async def _send(self, call: Call[Data]) -> Data:
        return await self._attempt(lambda: self._once(call), call.max_retries)

    async def _once(self, call: Call[Data]) -> Data:
        try:
            response = await self._http.send(self._settings.request(self._http, call))
        except httpx.HTTPError as error:
            raise requests.to_error(error) from error
        return call.parse(requests.data_of(response))

    async def _download(self, url: str) -> bytes:
        try:
            # The address may be a third party's: the key is for the API alone.
            response = await self._http.get(url, timeout=self._settings.timeout)
        except httpx.HTTPError as error:
            raise requests.to_error(error) from error
        if not response.is_success:
            raise error_of(response)
        return response.content

    async def _attempt(self, once: Callable[[], Awaitable[Data]], max_retries: int | None) -> Data:
        limit = self._settings.max_retries if max_retries is None else max_retries
        retries = 0
        while True:
            try:
                return await once()
            except DarkroomError as error:
                seconds = requests.wait_before(retries, error)
                if retries >= limit or seconds is None:
                    raise
                retries += 1
                await asyncio.sleep(seconds)

    async def _events_after(self, task: str | HasTaskId, last: int) -> AsyncIterator[TaskEvent]:
        """What a stream delivers until it ends, and what is there by then."""
        lines = requests.EventLines()
        async for line in self._stream(requests.stream_call(task, last)):
            data = lines.take(line)
            if data is not None:
                event = TaskEvent.model_validate_json(data)
                last = max(last, event.seq)
                yield event
        rest = await self._send(requests.events_call(task, last))
        for event in rest.events:
            yield event

    async def _stream(self, call: Call[None]) -> AsyncIterator[bytes]:
        """The lines of a response while they arrive."""
        response = await self._attempt(lambda: self._open(call), call.max_retries)
        lines = requests.Lines()
        try:
            async for part in response.aiter_bytes():
                for line in lines.take(part):
                    yield line
        except httpx.HTTPError as error:
            raise ConnectionError("the response broke off") from error
        finally:
            await response.aclose()
        for line in lines.rest():
            yield line

    async def _content(self, call: Call[None]) -> bytes:
        """The bytes of a response."""
        response = await self._attempt(lambda: self._open(call), call.max_retries)
        try:
            return await response.aread()
        except httpx.HTTPError as error:
            raise ConnectionError("the response broke off") from error
        finally:
            await response.aclose()

    async def _open(self, call: Call[None]) -> httpx.Response:
        try:
            response = await self._http.send(self._settings.request(self._http, call), stream=True)
            if not response.is_success:
                await response.aread()
        except httpx.HTTPError as error:
            raise requests.to_error(error) from error
        if not response.is_success:
            raise error_of(response)
        return response
