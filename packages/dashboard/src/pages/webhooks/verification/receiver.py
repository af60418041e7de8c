# Receives Darkroom's callbacks and accepts only what Darkroom signed. Python 3.9 or newer, no packages.
#   DARKROOM_WEBHOOK_SECRET=… PORT=3000 python3 receiver.py
import hashlib
import hmac
import json
import os
import re
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ.get("DARKROOM_WEBHOOK_SECRET", "").encode()
if not SECRET:
    raise SystemExit("DARKROOM_WEBHOOK_SECRET is not set")
PREFIX = "X-Darkroom"
TOLERANCE_SECONDS = 300
MAX_BODY_BYTES = 1_000_000


def is_genuine(headers, raw_body):
    """raw_body: the bytes as received. Parsing and serializing them again would change them."""
    timestamp = headers.get(f"{PREFIX}-Timestamp", "")
    # Prevents replays of recorded deliveries.
    if not re.fullmatch("[0-9]{1,12}", timestamp) or abs(time.time() - int(timestamp)) > TOLERANCE_SECONDS:
        return False
    expected = hmac.new(SECRET, timestamp.encode() + b"." + raw_body, hashlib.sha256).hexdigest()
    # For a day after a rotation, the previous secret signs too, in its own header.
    return any(
        hmac.compare_digest(expected.encode(), headers.get(f"{PREFIX}-{name}", "").encode())
        for name in ("Signature", "Signature-Previous")
    )


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        length = self.headers.get("Content-Length", "")
        if not re.fullmatch("[0-9]{1,9}", length) or int(length) > MAX_BODY_BYTES:
            return self.answer(413)
        raw_body = self.rfile.read(int(length))
        if not is_genuine(self.headers, raw_body):
            return self.answer(401)
        task = json.loads(raw_body)
        # Respond within 10 seconds and do the work afterwards. The same task can be delivered twice: ignore the second one.
        self.answer(204)
        print(task["taskId"], task["status"], flush=True)

    def answer(self, status):
        self.send_response(status)
        self.end_headers()


ThreadingHTTPServer(("", int(os.environ.get("PORT", "3000"))), Receiver).serve_forever()
