"""The errors of the SDK. Each class is something that a program can act on."""

from __future__ import annotations

from typing import Any

import httpx

from ._models import Task, Violation


class DarkroomError(Exception):
    """What all errors of the SDK have in common."""


class ApiError(DarkroomError):
    """The API rejected a request.

    ``code`` is the API's code for programs, empty if something between the client and the API responded.
    """

    def __init__(self, message: str, response: httpx.Response, code: str, violations: list[Violation]) -> None:
        super().__init__(message)
        self.message = message
        self.status_code = response.status_code
        self.code = code
        self.request_id = response.headers.get("x-request-id")
        self.violations = violations
        self.response = response


class InvalidRequestError(ApiError):
    """The request is wrong in itself; the message names the field."""


class ModelUnavailableError(ApiError):
    """The model is unknown, retired or unavailable at this moment."""


class AuthenticationError(ApiError):
    """The API key is missing, malformed, unknown, revoked or expired."""


class PermissionDeniedError(ApiError):
    """The key may not do this, the account is suspended, or a download URL has expired."""


class InsufficientBalanceError(ApiError):
    """The worst-case cost exceeds the available balance, or what the key may still spend."""


class NotFoundError(ApiError):
    """There is no such task, file or model in this account."""


class TaskPrunedError(ApiError):
    """The task ended longer ago than the service retains tasks. The message has its dates."""


class IdempotencyKeyMismatchError(ApiError):
    """The idempotency key was used with a different request before."""


class RateLimitError(ApiError):
    """Too many requests, or too many queued tasks. Raised when the automatic retries are used up."""


class ServiceError(ApiError):
    """The service failed or is not available. Raised when the automatic retries are used up."""


class ConnectionError(DarkroomError):
    """No complete response was received: the URL is wrong, nothing listens there, or the connection broke."""


class TimeoutError(ConnectionError):
    """A request, or the whole wait for a task, took longer than allowed. A task that was created continues."""


class TaskFailedError(DarkroomError):
    """A task that was run has failed. ``is_retryable``: the same request may succeed as a new task."""

    def __init__(self, task: Task) -> None:
        error = task.error
        super().__init__(f"the task {task.task_id} failed: {error.message if error else 'without a message'}")
        self.task = task
        self.code: str = error.code if error else ""
        self.reason = error.reason if error else None
        self.is_retryable = error.retryable if error else False


class WebhookVerificationError(DarkroomError):
    """A delivery was not signed with this secret, or not at about this time."""


_BY_CODE: dict[str, type[ApiError]] = {
    "MODEL_UNAVAILABLE": ModelUnavailableError,
    "INSUFFICIENT_BALANCE": InsufficientBalanceError,
    "TASK_PRUNED": TaskPrunedError,
    "IDEMPOTENCY_KEY_MISMATCH": IdempotencyKeyMismatchError,
}

_BY_STATUS: dict[int, type[ApiError]] = {
    401: AuthenticationError,
    402: InsufficientBalanceError,
    403: PermissionDeniedError,
    404: NotFoundError,
    408: ServiceError,
    409: ServiceError,
    429: RateLimitError,
}


def error_of(response: httpx.Response) -> ApiError:
    """The error for a response whose body has been read."""
    body = _json_object(response)
    message = body.get("message")
    if not isinstance(message, str):
        return _class_of(response, "")(f"HTTP {response.status_code}: {response.text[:200]}", response, "", [])
    code = str(body.get("error_code") or "")
    violations = body.get("violations")
    found = [Violation.model_validate(each) for each in violations] if isinstance(violations, list) else []
    return _class_of(response, code)(message, response, code, found)


def item_error(status: int, message: str, code: str) -> ApiError:
    """The error of one item of a request that was accepted as a whole."""
    response = httpx.Response(status)
    return _class_of(response, code)(message, response, code, [])


def _class_of(response: httpx.Response, code: str) -> type[ApiError]:
    status = response.status_code
    return _BY_CODE.get(code) or _BY_STATUS.get(status) or (ServiceError if status >= 500 else InvalidRequestError)


def _json_object(response: httpx.Response) -> dict[str, Any]:
    try:
        body = response.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}
