"""The requests of files and batches, and the files of lines that they send and receive."""

from __future__ import annotations

import io
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any, Generic, Protocol, TypeVar, Union
from urllib.parse import quote

from pydantic import BaseModel

from ._errors import DarkroomError
from ._models import Batch, FileObject, UploadedFile
from ._requests import UPLOAD_TIMEOUT, Call, new_key, parser

Item = TypeVar("Item", bound=BaseModel)

#: The requests of a batch, each with a ``custom_id`` and a ``body``; a file of complete lines; or the id of one.
BatchInput = Union[str, "os.PathLike[str]", Iterable[Mapping[str, Any]]]

#: Between two reads of a batch, in seconds: short ones first, for small batches.
FIRST_PAUSE = 1.0
LONGEST_PAUSE = 15.0

_ENDED = ("completed", "failed", "expired", "cancelled")


class HasId(Protocol):
    """A batch, or what else has its id."""

    @property
    def id(self) -> str: ...


@dataclass(frozen=True)
class Page(Generic[Item]):
    """A part of a list. ``after`` is where the next one begins, ``None`` if there is none."""

    items: list[Item]
    after: str | None


def open_file(data: bytes | os.PathLike[str]) -> IO[bytes]:
    return io.BytesIO(data) if isinstance(data, bytes) else open(data, "rb")


@contextmanager
def open_lines(lines: os.PathLike[str] | Iterable[Mapping[str, Any]], endpoint: str) -> Iterator[IO[bytes]]:
    """The file of a batch. The lines are on the disk, and not in memory."""
    if isinstance(lines, os.PathLike):
        with open(lines, "rb") as file:
            yield file
        return
    with tempfile.TemporaryFile() as file:
        for line in lines:
            request = {"custom_id": line["custom_id"], "method": "POST", "url": endpoint, "body": line["body"]}
            file.write(json.dumps(request).encode() + b"\n")
        yield file


def name_of(data: bytes | os.PathLike[str], purpose: str) -> str:
    if not isinstance(data, bytes):
        return os.path.basename(os.fspath(data))
    return "lines.jsonl" if purpose == "batch" else "file"


def upload_call(data: bytes) -> Call[UploadedFile]:
    headers = {"Content-Type": "application/octet-stream"}
    return Call("POST", "/files", parser(UploadedFile), content=data, headers=headers, timeout=UPLOAD_TIMEOUT)


def create_file_call(
    file: IO[bytes], name: str, purpose: str, expires_after_seconds: int | None = None
) -> Call[FileObject]:
    form = {"purpose": purpose}
    if expires_after_seconds is not None:
        form |= {"expires_after[anchor]": "created_at", "expires_after[seconds]": str(expires_after_seconds)}
    return Call("POST", "/files", parser(FileObject), form=form, file=(name, file), timeout=UPLOAD_TIMEOUT)


def file_call(file_id: str) -> Call[UploadedFile]:
    return Call("GET", _file_path(file_id), parser(UploadedFile))


def file_object_call(file_id: str) -> Call[FileObject]:
    return Call("GET", _file_path(file_id), parser(FileObject))


def delete_file_call(file_id: str) -> Call[None]:
    return Call("DELETE", _file_path(file_id), lambda _: None)


def content_call(file_id: str) -> Call[None]:
    return Call("GET", f"{_file_path(file_id)}/content", lambda _: None)


def files_call(purpose: str | None, after: str | None) -> Call[Page[FileObject]]:
    return _page_call("/files", FileObject, {"purpose": purpose, "after": after})


def create_batch_call(
    file_id: str, endpoint: str, metadata: Mapping[str, str] | None, output_expires_after_seconds: int | None
) -> Call[Batch]:
    body: dict[str, Any] = {"input_file_id": file_id, "endpoint": endpoint, "completion_window": "24h"}
    if metadata is not None:
        body["metadata"] = dict(metadata)
    if output_expires_after_seconds is not None:
        body["output_expires_after"] = {"anchor": "created_at", "seconds": output_expires_after_seconds}
    # One key for all attempts: a second batch would do the work twice.
    return Call("POST", "/batches", parser(Batch), json=body, headers={"Idempotency-Key": new_key()})


def batch_call(batch: str | HasId, max_retries: int | None = None) -> Call[Batch]:
    return Call("GET", _batch_path(batch), parser(Batch), max_retries=max_retries)


def cancel_batch_call(batch: str | HasId) -> Call[Batch]:
    return Call("POST", f"{_batch_path(batch)}/cancel", parser(Batch))


def batches_call(after: str | None) -> Call[Page[Batch]]:
    return _page_call("/batches", Batch, {"limit": "100", "after": after})


def has_ended(batch: Batch) -> bool:
    return batch.status in _ENDED


def require_end(batch: Batch) -> None:
    if not has_ended(batch):
        raise DarkroomError(f"the batch {batch.id} is {batch.status} and has no results yet")


def _page_call(path: str, model: type[Item], params: Mapping[str, str | None]) -> Call[Page[Item]]:
    def page(data: Mapping[str, Any]) -> Page[Item]:
        items = [model.model_validate(item) for item in data["data"]]
        return Page(items, data["data"][-1]["id"] if items and data["has_more"] else None)

    return Call("GET", path, page, params={name: value for name, value in params.items() if value is not None})


def _file_path(file_id: str) -> str:
    return f"/files/{_part(file_id, 'file')}"


def _batch_path(batch: str | HasId) -> str:
    return f"/batches/{_part(batch if isinstance(batch, str) else batch.id, 'batch')}"


def _part(identifier: str, what: str) -> str:
    if not identifier or identifier in (".", ".."):
        raise ValueError(f"the id of the {what} is missing")
    return quote(identifier, safe="")
