"""A small model for Cog: an image in a colour that the prompt decides. It writes down when it begins, ends and is stopped."""

import binascii
import os
import struct
import time
import zlib
from pathlib import Path as File
from tempfile import mkdtemp

from cog import BaseRunner, CancelationException, Input, Path

SIZE = 32


def note(what: str, prompt: str) -> None:
    with open(os.environ["RUNS_LOG"], "a", encoding="utf-8") as log:
        log.write(f"{what} {prompt}\n")


def chunk(kind: bytes, data: bytes) -> bytes:
    body = kind + data
    return struct.pack(">I", len(data)) + body + struct.pack(">I", binascii.crc32(body))


def draw_image(seed: bytes) -> bytes:
    colour = struct.pack(">I", binascii.crc32(seed))[:3]
    rows = b"".join(b"\0" + colour * SIZE for _ in range(SIZE))
    header = struct.pack(">IIBBBBB", SIZE, SIZE, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


class Runner(BaseRunner):
    def run(
        self,
        prompt: str = Input(description="What to draw."),
        seconds: float = Input(default=0, description="How long it takes."),
        image: Path = Input(default=None, description="An image whose bytes decide the colour too."),
    ) -> list[Path]:
        note("begins", prompt)
        try:
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                time.sleep(0.05)
        except CancelationException:
            note("stopped", prompt)
            raise
        if "[fail]" in prompt:
            raise ValueError("CUDA out of memory")
        target = File(mkdtemp()) / "image.png"
        target.write_bytes(draw_image(prompt.encode() + (File(image).read_bytes() if image else b"")))
        note("ends", prompt)
        return [Path(target)]
