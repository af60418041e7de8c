"""Calls every method of OpenAI's official client for Python, unmodified, in every form that it has.

Reads what it needs from standard input as JSON, and prints, as JSON, the methods that the installed client has
(``methods``) and the result of each call (``results``): ``works``, or how the server rejected it.
"""

import asyncio
import base64
import inspect
import json
import sys
import traceback

import openai
import pydantic

RESOURCES = ("images", "audio", "videos", "files", "uploads", "batches", "responses")

IMAGE = {"prompt": "a lake", "size": "1024x1024"}
EDIT = {"model": "darkroom/edit", "prompt": "black and white", "size": "1024x1024"}
SPEECH = {"model": "darkroom/speech", "input": "High water is at six.", "voice": "alloy", "response_format": "wav"}
VIDEO = {"model": "darkroom/motion", "prompt": "a lighthouse", "seconds": "1", "size": "854x480"}
TEXT = "darkroom/conformance-text"
LISTENING = "acme/compatible-transcription"
ASK = {"model": TEXT, "input": "What is 17 * 3? Reply with only the number."}
LINES = json.dumps(
    {"custom_id": "a", "method": "POST", "url": "/v1/images/generations", "body": {"model": "darkroom/scene", **IMAGE}}
).encode()


class Person(pydantic.BaseModel):
    name: str
    age: int


async def done(value):
    return await value if inspect.isawaitable(value) else value


async def collected(items):
    if hasattr(items, "__aiter__"):
        return [item async for item in items]
    return list(items)


def resource_of(client, method):
    """The resource that has a method, and the method's own name."""
    *path, name = method.split(".")
    for part in path:
        client = getattr(client, part)
    return client, name


def methods_of(client):
    """The methods of the installed client, with their forms."""
    found = {}

    def walk(resource, path):
        for name in dir(type(resource)):
            member = inspect.getattr_static(type(resource), name)
            if name.startswith("_") or name in ("with_raw_response", "with_streaming_response"):
                continue
            if not inspect.isfunction(member):
                walk(getattr(resource, name), f"{path}.{name}")
                continue
            forms = ["plain"]
            # `parse` passes it on, but cannot parse a stream; newer versions have dropped it.
            if "stream" in inspect.signature(member).parameters and name != "parse":
                forms.append("stream")
            if hasattr(resource.with_raw_response, name):
                forms.append("raw")
            if hasattr(resource.with_streaming_response, name):
                forms.append("streaming")
            found[f"{path}.{name}"] = forms

    for name in RESOURCES:
        if hasattr(client, name):
            walk(getattr(client, name), name)
    return found


class Trial:
    """One call of a method in one form, with what it needs."""

    def __init__(self, client, given, method, form):
        self.client, self.given, self.method, self.form = client, given, method, form

    async def call(self, *args, **kwargs):
        """The value of the call, whatever its form."""
        resource, name = resource_of(self.client, self.method)
        if self.form == "raw":
            response = await done(getattr(resource.with_raw_response, name)(*args, **kwargs))
            assert response.headers["x-request-id"]
            return await done(response.parse())
        if self.form == "streaming":
            return await self.streamed(lambda response: response.parse(), *args, **kwargs)
        return await done(getattr(resource, name)(*args, **kwargs))

    async def streamed(self, read, *args, **kwargs):
        resource, name = resource_of(self.client, self.method)
        manager = getattr(resource.with_streaming_response, name)(*args, **kwargs)
        if hasattr(manager, "__aenter__"):
            async with manager as response:
                return await done(read(response))
        with manager as response:
            return await done(read(response))

    async def bytes(self, *args, **kwargs):
        """The bytes that the call returns."""
        if self.form == "streaming":
            return await self.streamed(lambda response: response.read(), *args, **kwargs)
        return (await self.call(*args, **kwargs)).content

    async def events(self, **kwargs):
        """The types of the events of the stream that the call returns."""
        return [event.type for event in await collected(await self.call(stream=True, **kwargs))]

    async def items(self, *args, **kwargs):
        """What the call lists, over several pages."""
        return await collected(await self.call(*args, limit=1, **kwargs))

    async def file(self, **kwargs):
        options = {"file": ("lines.jsonl", LINES), "purpose": "batch", **kwargs}
        return (await done(self.client.files.create(**options))).id

    async def upload(self):
        described = {"filename": "a.bin", "purpose": "user_data", "mime_type": "application/octet-stream"}
        return (await done(self.client.uploads.create(bytes=len(LINES), **described))).id

    async def part(self, upload):
        return (await done(self.client.uploads.parts.create(upload, data=LINES))).id

    async def batch(self):
        file = await self.file()
        made = self.client.batches.create(
            input_file_id=file, endpoint="/v1/images/generations", completion_window="24h"
        )
        return (await done(made)).id

    async def video(self, **kwargs):
        return (await done(self.client.videos.create(**{**VIDEO, **kwargs}))).id

    async def completed_video(self):
        """The same one for all: making it takes a while."""
        if "video" not in self.given:
            made = await done(self.client.videos.create_and_poll(**VIDEO))
            assert made.status == "completed", made
            self.given["video"] = made.id
        return self.given["video"]

    async def response(self, **kwargs):
        return (await done(self.client.responses.create(**ASK, **kwargs))).id

    def sound(self):
        return ("station.wav", base64.b64decode(self.given["sound"]))

    def photo(self):
        return ("photo.png", base64.b64decode(self.given["photo"]))


#: By method: a function for the form ``stream``, and one for all others.
CALLS = {}


def of(method, form="plain"):
    def register(function):
        CALLS.setdefault(method, {})[form] = function
        return function

    return register


#: Calls whose value is not checked: most of them have no endpoint.
UNCHECKED = {
    "images.create_variation": lambda t: t.call(model="darkroom/edit", image=t.photo()),
    "audio.voices.create": lambda t: t.call(name="Ann", audio_sample=t.sound(), consent="cons_1"),
    "audio.voices.delete": lambda t: t.call("voice_1"),
    "audio.voice_consents.create": lambda t: t.call(name="Ann", language="en-US", recording=t.sound()),
    "audio.voice_consents.list": lambda t: t.items(),
    "audio.voice_consents.retrieve": lambda t: t.call("cons_1"),
    "audio.voice_consents.update": lambda t: t.call("cons_1", name="Ann"),
    "audio.voice_consents.delete": lambda t: t.call("cons_1"),
    # Videos as files: with an id, this version of the client fails by itself.
    "videos.edit": lambda t: t.call(video=("a.mp4", b"a"), prompt="cold"),
    "videos.extend": lambda t: t.call(video=("a.mp4", b"a"), prompt="cold", seconds="4"),
    "videos.create_character": lambda t: t.call(name="Ann", video=("a.mp4", b"a")),
    "videos.get_character": lambda t: t.call("char_1"),
    "responses.input_tokens.count": lambda t: t.call(**ASK),
    "responses.compact": lambda t: t.call(**ASK),
}

#: With what has to hold of the value.
CHECKED = {
    "images.generate": (lambda t: t.call(model="darkroom/scene", **IMAGE), lambda made: made.data[0].b64_json),
    "images.edit": (lambda t: t.call(image=t.photo(), **EDIT), lambda made: made.data[0].b64_json),
    "audio.speech.create": (lambda t: t.bytes(**SPEECH), lambda sound: sound[:4] == b"RIFF"),
    "audio.transcriptions.create": (
        lambda t: t.call(model=LISTENING, file=t.sound()),
        lambda made: made.text == "Mind the gap. The doors close.",
    ),
    "audio.translations.create": (
        lambda t: t.call(model=LISTENING, file=t.sound()),
        lambda made: made.text == "Watch out.",
    ),
    "videos.create": (lambda t: t.call(**VIDEO), lambda made: made.status in ("queued", "in_progress")),
    "videos.create_and_poll": (lambda t: t.call(**VIDEO), lambda made: made.status == "completed"),
    "files.create": (
        lambda t: t.call(file=("lines.jsonl", LINES), purpose="batch"),
        lambda made: made.bytes == len(LINES),
    ),
    "uploads.create": (
        lambda t: t.call(filename="a.bin", purpose="user_data", bytes=1, mime_type="application/octet-stream"),
        lambda made: made.status == "pending",
    ),
    "uploads.upload_file_chunked": (
        lambda t: t.call(
            file=LINES,
            filename="lines.jsonl",
            bytes=len(LINES),
            mime_type="application/jsonl",
            purpose="batch",
            part_size=50,
        ),
        lambda made: made.file.bytes == len(LINES),
    ),
    "responses.create": (lambda t: t.call(**ASK), lambda made: "51" in made.output_text),
    "responses.parse": (
        lambda t: t.call(model=TEXT, input="Invent a person.", text_format=Person),
        lambda made: isinstance(made.output_parsed, Person),
    ),
}

#: The same of the types of the events.
STREAMED = {
    "images.generate": (
        lambda t: t.events(model="darkroom/scene", **IMAGE),
        lambda types: types == ["image_generation.completed"],
    ),
    "images.edit": (lambda t: t.events(image=t.photo(), **EDIT), lambda types: types == ["image_edit.completed"]),
    "audio.transcriptions.create": (
        lambda t: t.events(model=LISTENING, file=t.sound()),
        lambda types: types[-1] == "transcript.text.done",
    ),
    "responses.create": (lambda t: t.events(**ASK), lambda types: types[-1] == "response.completed"),
}


def twice(make):
    async def made(t):
        await make(t)
        await make(t)

    return made


#: Calls of what is made for them first, here in front of them.
OF_MADE = {
    "videos.poll": (Trial.video, lambda t, id: t.call(id), lambda video, _: video.status == "completed"),
    "videos.retrieve": (Trial.completed_video, lambda t, id: t.call(id), lambda video, id: video.id == id),
    "videos.list": (twice(Trial.video), lambda t, _: t.items(), lambda videos, _: len(videos) >= 2),
    "videos.delete": (Trial.video, lambda t, id: t.call(id), lambda answer, _: answer.deleted),
    "videos.download_content": (
        Trial.completed_video,
        lambda t, id: t.bytes(id),
        lambda content, _: content[4:8] == b"ftyp",
    ),
    "videos.remix": (
        Trial.completed_video,
        lambda t, id: t.call(id, prompt="cold", extra_body={"model": "darkroom/blend"}),
        lambda remix, id: remix.remixed_from_video_id == id,
    ),
    "files.retrieve": (Trial.file, lambda t, id: t.call(id), lambda file, id: file.id == id),
    "files.list": (twice(Trial.file), lambda t, _: t.items(purpose="batch"), lambda files, _: len(files) >= 2),
    "files.delete": (Trial.file, lambda t, id: t.call(id), lambda answer, _: answer.deleted),
    "files.content": (Trial.file, lambda t, id: t.bytes(id), lambda content, _: content == LINES),
    "files.retrieve_content": (Trial.file, lambda t, id: t.call(id), lambda content, _: content == LINES.decode()),
    "files.wait_for_processing": (
        Trial.file,
        lambda t, id: t.call(id, poll_interval=0.1),
        lambda file, _: file.status == "processed",
    ),
    "uploads.parts.create": (
        Trial.upload,
        lambda t, id: t.call(id, data=LINES),
        lambda part, id: part.upload_id == id,
    ),
    "uploads.cancel": (Trial.upload, lambda t, id: t.call(id), lambda upload, _: upload.status == "cancelled"),
    "batches.create": (
        Trial.file,
        lambda t, id: t.call(input_file_id=id, endpoint="/v1/images/generations", completion_window="24h"),
        lambda batch, id: batch.input_file_id == id,
    ),
    "batches.retrieve": (Trial.batch, lambda t, id: t.call(id), lambda batch, id: batch.id == id),
    "batches.list": (twice(Trial.batch), lambda t, _: t.items(), lambda batches, _: len(batches) >= 2),
    "batches.cancel": (
        Trial.batch,
        lambda t, id: t.call(id),
        lambda batch, _: batch.status in ("cancelling", "cancelled"),
    ),
    "responses.retrieve": (Trial.response, lambda t, id: t.call(id), lambda response, id: response.id == id),
    "responses.delete": (Trial.response, lambda t, id: t.call(id), lambda answer, _: answer is None),
    "responses.cancel": (
        lambda t: t.response(background=True),
        lambda t, id: t.call(id),
        lambda response, _: response.id,
    ),
}


def checked(call, holds):
    async def run(t):
        value = await call(t)
        assert holds(value), value

    return run


def checked_of_made(make, call, holds):
    async def run(t):
        made = await make(t)
        value = await call(t, made)
        assert holds(value, made), value

    return run


for method, call in UNCHECKED.items():
    of(method)(call)
for method, row in CHECKED.items():
    of(method)(checked(*row))
for method, row in STREAMED.items():
    of(method, "stream")(checked(*row))
for method, row in OF_MADE.items():
    of(method)(checked_of_made(*row))


@of("uploads.complete")
async def _(t):
    upload = await t.upload()
    made = await t.call(upload, part_ids=[await t.part(upload)])
    assert made.file.bytes == len(LINES)


@of("responses.retrieve", "stream")
async def _(t):
    response = await t.response()
    events = await collected(await t.call(response, stream=True))
    assert events[-1].type == "response.completed"


@of("responses.stream")
async def _(t):
    manager = await t.call(**ASK)
    if hasattr(manager, "__aenter__"):
        async with manager as stream:
            types = [event.type async for event in stream]
            final = await stream.get_final_response()
    else:
        with manager as stream:
            types = [event.type for event in stream]
            final = stream.get_final_response()
    assert types[-1] == "response.completed" and "51" in final.output_text


@of("responses.input_items.list")
async def _(t):
    message = [{"role": "user", "content": "one"}, {"role": "user", "content": "two"}]
    made = await done(t.client.responses.create(model=TEXT, input=message))
    assert len(await t.items(made.id)) == 2


@of("responses.connect")
async def _(t):
    manager = t.client.responses.connect(max_retries=0)
    if hasattr(manager, "__aenter__"):
        async with manager:
            pass
    else:
        with manager:
            pass


async def result_of(call, trial):
    try:
        await call(trial)
        return "works"
    except openai.APIStatusError as error:
        return f"{error.status_code} {error.code or ''}".strip()
    except Exception as error:
        # Of websockets: the server does not speak them.
        status = getattr(getattr(error, "response", None), "status_code", None)
        if status is not None:
            return str(status)
        traceback.print_exc()
        return f"fails with {type(error).__name__}"


async def main():
    given = json.load(sys.stdin)
    kind = openai.AsyncOpenAI if given["isAsync"] else openai.OpenAI
    client = kind(base_url=given["url"], api_key=given["key"])
    methods = methods_of(client)
    results = {}
    for method, forms in methods.items():
        calls = CALLS.get(method, {})
        results[method] = {}
        for form in forms:
            call = calls.get("stream" if form == "stream" else "plain")
            if call is not None:
                results[method][form] = await result_of(call, Trial(client, given, method, form))
    print(json.dumps({"methods": methods, "results": results}))


asyncio.run(main())
