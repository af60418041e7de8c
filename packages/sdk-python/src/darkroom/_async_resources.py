"""What the asynchronous client has beside tasks. Made by test/sdk/render-python.ts; do not edit."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from . import _file_requests as files
from . import _requests as requests
from ._errors import TimeoutError
from ._file_requests import BatchInput, HasId
from ._models import Batch, BatchResult, FileObject, Model, ModelDetail, Token, UploadedFile

if TYPE_CHECKING:
    from ._async_client import AsyncDarkroom

__all__ = ["AsyncBatches", "AsyncFiles", "AsyncModels", "AsyncTokens"]


class AsyncModels:
    """The models that a key may use."""

    def __init__(self, client: AsyncDarkroom) -> None:
        self._client = client

    async def list(self) -> Sequence[Model]:
        """Lists the models, with their prices."""
        return await self._client._send(requests.models_call())

    async def get(self, name: str) -> ModelDetail:
        """Reads a model with the schema of its input."""
        return await self._client._send(requests.model_call(name))


class AsyncFiles:
    """Inputs of tasks, and files in the form of OpenAI's API, such as the lines of a batch."""

    def __init__(self, client: AsyncDarkroom) -> None:
        self._client = client

    async def upload(self, data: bytes) -> UploadedFile:
        """Uploads an image, a video or a recording of at most 100 MB. It is kept for a day."""
        return await self._client._send(files.upload_call(data))

    async def get(self, file_id: str) -> UploadedFile:
        """Reads a file. Its URL is fresh each time."""
        return await self._client._send(files.file_call(file_id))

    async def delete(self, file_id: str) -> None:
        """Deletes a file, in either form; its URLs stop working at once."""
        await self._client._send(files.delete_file_call(file_id))

    async def create(
        self,
        data: bytes | os.PathLike[str],
        *,
        purpose: str,
        filename: str | None = None,
        expires_after_seconds: int | None = None,
    ) -> FileObject:
        """Creates a file in the form of OpenAI's API. It is kept for 30 days by default.

        ``purpose`` is ``batch`` (lines of JSON, at most 200 MB), ``vision`` (an image) or ``user_data``.
        """
        name = filename or files.name_of(data, purpose)
        with files.open_file(data) as file:
            return await self._client._send(files.create_file_call(file, name, purpose, expires_after_seconds))

    async def retrieve(self, file_id: str) -> FileObject:
        """Reads a file in the form of OpenAI's API."""
        return await self._client._send(files.file_object_call(file_id))

    async def list(self, *, purpose: str | None = None) -> AsyncIterator[FileObject]:
        """Yields all files in the form of OpenAI's API, newest first, page by page."""
        after: str | None = None
        while True:
            page = await self._client._send(files.files_call(purpose, after))
            for file in page.items:
                yield file
            after = page.after
            if after is None:
                return

    async def content(self, file_id: str) -> bytes:
        """Downloads a file into memory."""
        return await self._client._content(files.content_call(file_id))


class AsyncBatches:
    """Many requests in a file, and later files of results."""

    def __init__(self, client: AsyncDarkroom) -> None:
        self._client = client

    async def create(
        self,
        lines: BatchInput,
        *,
        endpoint: str = "/v1/tasks",
        metadata: Mapping[str, str] | None = None,
        output_expires_after_seconds: int | None = None,
    ) -> Batch:
        """Creates a batch, after uploading its lines if they are no file yet.

        ``lines`` are the requests, each with a ``custom_id`` and a ``body``; or the path of a file of complete lines,
        or the id of a file that was created. All attempts of a call have one ``Idempotency-Key``, so none of them
        creates a second batch. Another call creates another one: after a ``ConnectionError`` or a ``ServiceError``,
        ``list`` shows whether the batch exists.
        """
        if isinstance(lines, str):
            file_id = lines
        else:
            with files.open_lines(lines, endpoint) as file:
                created = await self._client._send(files.create_file_call(file, "lines.jsonl", "batch"))
            file_id = created.id
        return await self._client._send(
            files.create_batch_call(file_id, endpoint, metadata, output_expires_after_seconds)
        )

    async def retrieve(self, batch: str | HasId) -> Batch:
        """Reads a batch."""
        return await self._client._send(files.batch_call(batch))

    async def list(self) -> AsyncIterator[Batch]:
        """Yields all batches, newest first, page by page."""
        after: str | None = None
        while True:
            page = await self._client._send(files.batches_call(after))
            for batch in page.items:
                yield batch
            after = page.after
            if after is None:
                return

    async def cancel(self, batch: str | HasId) -> Batch:
        """Requests that a batch be cancelled: no further line is started. Returns it as it is."""
        return await self._client._send(files.cancel_batch_call(batch))

    async def wait(
        self,
        batch: str | HasId,
        *,
        wait_seconds: float | None = None,
        on_update: Callable[[Batch], None] | None = None,
        max_retries: int = requests.WAIT_RETRIES,
    ) -> Batch:
        """Waits until a batch has ended, and returns it: completed, failed, expired or cancelled.

        Raises ``TimeoutError`` if it does not end within ``wait_seconds``; it continues.
        """
        begun_at = time.monotonic()
        pause = files.FIRST_PAUSE
        while True:
            current = await self._client._send(files.batch_call(batch, max_retries))
            if on_update is not None:
                on_update(current)
            if files.has_ended(current):
                return current
            left = pause if wait_seconds is None else begun_at + wait_seconds - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"the batch {current.id} did not end within {wait_seconds} s; it continues")
            await asyncio.sleep(min(pause, left))
            pause = min(pause * 1.5, files.LONGEST_PAUSE)

    async def results(self, batch: str | HasId) -> AsyncIterator[BatchResult]:
        """Yields the lines that succeeded, in the order of the input, while they are downloaded.

        Raises ``DarkroomError`` if the batch has not ended.
        """
        current = await self._client._send(files.batch_call(batch))
        files.require_end(current)
        async for result in self._results_in(current.output_file_id):
            yield result

    async def errors(self, batch: str | HasId) -> AsyncIterator[BatchResult]:
        """Yields all other lines, in the same way."""
        current = await self._client._send(files.batch_call(batch))
        files.require_end(current)
        async for result in self._results_in(current.error_file_id):
            yield result

    async def _results_in(self, file_id: str | None) -> AsyncIterator[BatchResult]:
        """None without a file: the batch has no such lines."""
        if file_id is None:
            return
        async for line in self._client._stream(files.content_call(file_id)):
            if line:
                yield BatchResult.model_validate_json(line)


class AsyncTokens:
    """Short-lived tokens for browsers and mobile applications."""

    def __init__(self, client: AsyncDarkroom) -> None:
        self._client = client

    async def create(
        self,
        scopes: Sequence[str],
        *,
        models: Sequence[str] | None = None,
        spend_cap: str | None = None,
        seconds: int | None = None,
        origins: Sequence[str] | None = None,
    ) -> Token:
        """Creates a token with a part of the rights of the key. Its ``token`` is not shown again."""
        return await self._client._send(requests.token_call(scopes, models, spend_cap, seconds, origins))
