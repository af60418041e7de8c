"""Verifies that a delivery is from Darkroom, by the headers of Standard Webhooks."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import time
from collections.abc import Mapping

from ._errors import WebhookVerificationError
from ._models import Task

__all__ = ["WebhookVerificationError", "verify"]

_PREFIX = "whsec_"


def verify(headers: Mapping[str, str], body: bytes | str, secret: str, *, tolerance_seconds: float = 300) -> Task:
    """Verifies the signature and the time of a delivery, and returns the task that it reports.

    ``body`` is exactly what was received: parsing and serializing it again would change it. ``secret`` is in either of
    the forms that ``GET /account/webhook-key`` returns. A delivery may arrive more than once.

    Raises ``WebhookVerificationError``: respond with 401, and do nothing else.
    """
    if not secret:
        raise ValueError("the signing secret is missing")
    raw = body.encode() if isinstance(body, str) else bytes(body)
    received = {name.lower(): value for name, value in headers.items()}
    message_id = _header(received, "webhook-id")
    timestamp = _header(received, "webhook-timestamp")
    signatures = _header(received, "webhook-signature").split(" ")
    _require_recent(timestamp, tolerance_seconds)
    signed = f"{message_id}.{timestamp}.".encode() + raw
    if not any(_is_signature(signature, signed, key) for signature in signatures for key in _keys_of(secret)):
        raise WebhookVerificationError("the signature is not one of this secret")
    return Task.model_validate_json(raw)


def _header(received: Mapping[str, str], name: str) -> str:
    value = received.get(name)
    if not value:
        raise WebhookVerificationError(f"the header {name} is missing")
    return value


def _require_recent(timestamp: str, tolerance_seconds: float) -> None:
    if not timestamp.isdecimal():
        raise WebhookVerificationError("the header webhook-timestamp is not a time")
    age = abs(time.time() - int(timestamp))
    if age > tolerance_seconds:
        raise WebhookVerificationError(
            f"the delivery was signed {round(age)} s from now; {tolerance_seconds:g} s are allowed"
        )


def _keys_of(secret: str) -> list[bytes]:
    # A secret that an account has chosen may begin like the form of Standard Webhooks; it is used as it is, too.
    plain = secret.encode()
    if not secret.startswith(_PREFIX):
        return [plain]
    try:
        decoded = base64.b64decode(secret[len(_PREFIX) :], validate=True)
    except binascii.Error:
        return [plain]
    return [decoded, plain] if decoded else [plain]


def _is_signature(signature: str, signed: bytes, key: bytes) -> bool:
    version, _, encoded = signature.partition(",")
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
    return version == "v1" and hmac.compare_digest(expected, encoded.encode())
