"""Darkroom for Python: ``Darkroom`` is the client, ``AsyncDarkroom`` the same for ``asyncio``."""

from . import webhooks
from ._async_client import AsyncDarkroom
from ._client import Darkroom
from ._errors import (
    ApiError,
    AuthenticationError,
    ConnectionError,
    DarkroomError,
    IdempotencyKeyMismatchError,
    InsufficientBalanceError,
    InvalidRequestError,
    ModelUnavailableError,
    NotFoundError,
    PermissionDeniedError,
    RateLimitError,
    ServiceError,
    TaskFailedError,
    TimeoutError,
    WebhookVerificationError,
)
from ._models import (
    Account,
    Estimate,
    Model,
    ModelDetail,
    Output,
    Task,
    TaskEvent,
    TaskPage,
    UploadedFile,
    Violation,
)
from ._requests import SubmittedTask

__all__ = [
    "Account",
    "ApiError",
    "AsyncDarkroom",
    "AuthenticationError",
    "ConnectionError",
    "Darkroom",
    "DarkroomError",
    "Estimate",
    "IdempotencyKeyMismatchError",
    "InsufficientBalanceError",
    "InvalidRequestError",
    "Model",
    "ModelDetail",
    "ModelUnavailableError",
    "NotFoundError",
    "Output",
    "PermissionDeniedError",
    "RateLimitError",
    "ServiceError",
    "SubmittedTask",
    "Task",
    "TaskEvent",
    "TaskFailedError",
    "TaskPage",
    "TimeoutError",
    "UploadedFile",
    "Violation",
    "WebhookVerificationError",
    "webhooks",
]
