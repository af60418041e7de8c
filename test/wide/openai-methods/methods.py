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


@of("images.generate")
async def _(t):
    assert (await t.call(model="darkroom/scene", **IMAGE)).data[0].b64_json


@of("images.generate", "stream")
async def _(t):
    assert await t.events(model="darkroom/scene", **IMAGE) == ["image_generation.completed"]


@of("images.edit")
async def _(t):
    assert (await t.call(image=t.photo(), **EDIT)).data[0].b64_json


@of("images.edit", "stream")
async def _(t):
    assert await t.events(image=t.photo(), **EDIT) == ["image_edit.completed"]


@of("images.create_variation")
async def _(t):
    await t.call(model="darkroom/edit", image=t.photo())


@of("audio.speech.create")
async def _(t):
    assert (await t.bytes(**SPEECH))[:4] == b"RIFF"


@of("audio.transcriptions.create")
async def _(t):
    made = await t.call(model="acme/compatible-transcription", file=t.sound())
    assert made.text == "Mind the gap. The doors close."


@of("audio.transcriptions.create", "stream")
async def _(t):
    types = await t.events(model="acme/compatible-transcription", file=t.sound())
    assert types[-1] == "transcript.text.done"


@of("audio.translations.create")
async def _(t):
    assert (await t.call(model="acme/compatible-transcription", file=t.sound())).text == "Watch out."


@of("audio.voices.create")
async def _(t):
    await t.call(name="Ann", audio_sample=t.sound(), consent="cons_1")


@of("audio.voices.delete")
async def _(t):
    await t.call("voice_1")


@of("audio.voice_consents.create")
async def _(t):
    await t.call(name="Ann", language="en-US", recording=t.sound())


@of("audio.voice_consents.list")
async def _(t):
    await t.items()


@of("audio.voice_consents.retrieve")
@of("audio.voice_consents.delete")
async def _(t):
    await t.call("cons_1")


@of("audio.voice_consents.update")
async def _(t):
    await t.call("cons_1", name="Ann")


@of("videos.create")
async def _(t):
    assert (await t.call(**VIDEO)).status in ("queued", "in_progress")


@of("videos.create_and_poll")
async def _(t):
    assert (await t.call(**VIDEO)).status == "completed"


@of("videos.poll")
async def _(t):
    assert (await t.call(await t.video())).status == "completed"


@of("videos.retrieve")
async def _(t):
    video = await t.completed_video()
    assert (await t.call(video)).id == video


@of("videos.list")
async def _(t):
    await t.video()
    await t.video()
    assert len(await t.items()) >= 2


@of("videos.delete")
async def _(t):
    assert (await t.call(await t.video())).deleted


@of("videos.download_content")
async def _(t):
    assert (await t.bytes(await t.completed_video()))[4:8] == b"ftyp"


@of("videos.remix")
async def _(t):
    video = await t.completed_video()
    remix = await t.call(video, prompt="cold", extra_body={"model": "darkroom/blend"})
    assert remix.remixed_from_video_id == video


@of("videos.edit")
async def _(t):
    # As a file: with an id, this version of the client fails by itself.
    await t.call(video=("a.mp4", b"a"), prompt="cold")


@of("videos.extend")
async def _(t):
    await t.call(video=("a.mp4", b"a"), prompt="cold", seconds="4")


@of("videos.create_character")
async def _(t):
    await t.call(name="Ann", video=("a.mp4", b"a"))


@of("videos.get_character")
async def _(t):
    await t.call("char_1")


@of("files.create")
async def _(t):
    assert (await t.call(file=("lines.jsonl", LINES), purpose="batch")).bytes == len(LINES)


@of("files.retrieve")
async def _(t):
    file = await t.file()
    assert (await t.call(file)).id == file


@of("files.list")
async def _(t):
    await t.file()
    await t.file()
    assert len(await t.items(purpose="batch")) >= 2


@of("files.delete")
async def _(t):
    assert (await t.call(await t.file())).deleted


@of("files.content")
async def _(t):
    assert await t.bytes(await t.file()) == LINES


@of("files.retrieve_content")
async def _(t):
    assert await t.call(await t.file()) == LINES.decode()


@of("files.wait_for_processing")
async def _(t):
    assert (await t.call(await t.file(), poll_interval=0.1)).status == "processed"


@of("uploads.create")
async def _(t):
    made = await t.call(filename="a.bin", purpose="user_data", bytes=1, mime_type="application/octet-stream")
    assert made.status == "pending"


@of("uploads.parts.create")
async def _(t):
    upload = await t.upload()
    assert (await t.call(upload, data=LINES)).upload_id == upload


@of("uploads.complete")
async def _(t):
    upload = await t.upload()
    made = await t.call(upload, part_ids=[await t.part(upload)])
    assert made.file.bytes == len(LINES)


@of("uploads.cancel")
async def _(t):
    assert (await t.call(await t.upload())).status == "cancelled"


@of("uploads.upload_file_chunked")
async def _(t):
    made = await t.call(
        file=LINES, filename="lines.jsonl", bytes=len(LINES), mime_type="application/jsonl", purpose="batch", part_size=50
    )
    assert made.file.bytes == len(LINES)


@of("batches.create")
async def _(t):
    file = await t.file()
    made = await t.call(input_file_id=file, endpoint="/v1/images/generations", completion_window="24h")
    assert made.input_file_id == file


@of("batches.retrieve")
async def _(t):
    batch = await t.batch()
    assert (await t.call(batch)).id == batch


@of("batches.list")
async def _(t):
    await t.batch()
    await t.batch()
    assert len(await t.items()) >= 2


@of("batches.cancel")
async def _(t):
    assert (await t.call(await t.batch())).status in ("cancelling", "cancelled")


@of("responses.create")
async def _(t):
    made = await t.call(**ASK)
    assert "51" in made.output_text, made


@of("responses.create", "stream")
async def _(t):
    assert (await t.events(**ASK))[-1] == "response.completed"


@of("responses.retrieve")
async def _(t):
    response = await t.response()
    assert (await t.call(response)).id == response


@of("responses.retrieve", "stream")
async def _(t):
    response = await t.response()
    events = await collected(await t.call(response, stream=True))
    assert events[-1].type == "response.completed"


@of("responses.delete")
async def _(t):
    assert await t.call(await t.response()) is None


@of("responses.cancel")
async def _(t):
    assert (await t.call(await t.response(background=True))).id


@of("responses.parse")
async def _(t):
    made = await t.call(model=TEXT, input="Invent a person.", text_format=Person)
    assert isinstance(made.output_parsed, Person), made


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


@of("responses.input_tokens.count")
async def _(t):
    await t.call(**ASK)


@of("responses.compact")
async def _(t):
    await t.call(**ASK)


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
