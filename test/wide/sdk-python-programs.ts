/** Programs that use the Python SDK, against a running Darkroom if nothing else is said. Each prints what it found. */

/** A session with each client; `CLIENT` is replaced. */
export const SESSION = `
import asyncio, json, os, sys
import darkroom as sdk
from darkroom import AsyncDarkroom, Darkroom

settings = {"base_url": os.environ["DARKROOM_BASE_URL"], "api_key": os.environ["DARKROOM_API_KEY"]}

async def result(value):
    return await value if asyncio.iscoroutine(value) else value

async def name_of(call):
    try:
        await result(call())
        return "nothing"
    except Exception as error:
        return type(error).__name__

async def events_of(client, task):
    events = client.subscribe(task, max_retries=20)
    if hasattr(events, "__aiter__"):
        return [(event.seq, event.type) async for event in events]
    return [(event.seq, event.type) for event in events]

async def main():
    client = CLIENT(**settings)
    stranger = CLIENT(**{**settings, "api_key": "none"})
    scene = {"prompt": "a hill"}
    first = await result(client.submit("darkroom/scene", scene, idempotency_key=os.environ["KEY"]))
    again = await result(client.submit("darkroom/scene", scene, idempotency_key=os.environ["KEY"]))
    events = await events_of(client, first)
    long = await result(client.submit("darkroom/motion-long", {"prompt": "a boat on the sea"}))
    await result(client.cancel(long))
    cancelled = await result(client.wait(long))
    names = [
        await name_of(lambda: client.run("no-model", scene)),
        await name_of(lambda: client.run("darkroom/scene", {"prompt": 7})),
        await name_of(lambda: client.submit("darkroom/scene", {"prompt": "b"}, idempotency_key=os.environ["KEY"])),
        await name_of(lambda: client.get("tk-svc-00000000000000000000000000")),
        await name_of(lambda: client.upload(b"123")),
        await name_of(lambda: stranger.list()),
        await name_of(lambda: client.wait(first, wait_seconds=-1)),
    ]
    usage = await result(client.request("GET", "/account/usage"))
    print(json.dumps({
        "same": first == again, "events": events, "error": cancelled.error.code, "names": names,
        "currency": usage["currency"], "account": (await result(client.account())).status,
    }))
    await result(client.close())

asyncio.run(main())
`;

/** Batches, several tasks and tokens with each client; `CLIENT` is replaced. */
export const BATCHES = `
import asyncio, json, os
from pathlib import Path
import darkroom as sdk
from darkroom import AsyncDarkroom, Darkroom

settings = {"base_url": os.environ["DARKROOM_BASE_URL"], "api_key": os.environ["DARKROOM_API_KEY"]}
IMAGES = "/v1/images/generations"

async def result(value):
    return await value if asyncio.iscoroutine(value) else value

async def collected(items):
    return [item async for item in items] if hasattr(items, "__aiter__") else list(items)

async def main():
    client = CLIENT(**settings)
    def line(custom_id, **changes):
        body = {"model": "darkroom/scene", "prompt": "a lake", "size": "1024x1024", **changes}
        return {"custom_id": custom_id, "body": body}
    created = await result(client.batches.create((line(each) for each in "ab"), endpoint=IMAGES, metadata={"a": "b"}))
    batch = await result(client.batches.wait(created))
    results = await collected(client.batches.results(batch))

    path = Path("mine.jsonl")
    wrong = {**line("wrong", size="7x7"), "method": "POST", "url": IMAGES}
    path.write_text(json.dumps(wrong))
    file = await result(client.files.create(path, purpose="batch", expires_after_seconds=3600))
    failed = await result(client.batches.wait(await result(client.batches.create(path, endpoint=IMAGES))))
    errors = await collected(client.batches.errors(failed.id))
    other = await result(client.batches.create(file.id, endpoint=IMAGES))
    cancelled = await result(client.batches.cancel(other))
    try:
        await collected(client.batches.results(other))
        early = "nothing"
    except sdk.DarkroomError as error:
        early = str(error).split(" ")[-4:]
    listed = await collected(client.batches.list())
    files = await collected(client.files.list(purpose="batch"))

    outcomes = await result(client.submit_many([
        {"model": "darkroom/scene", "input": {"prompt": "a hill"}, "max_cost": "1", "idempotency_key": os.urandom(4).hex()},
        {"model": "darkroom/scene", "input": {"prompt": 7}},
        {"model": "no-model", "input": {}},
    ]))
    task = await result(client.wait(outcomes[0].task_id))
    token = await result(client.tokens.create(["tasks:read"], seconds=60))
    holder = CLIENT(**{**settings, "api_key": token.token})
    try:
        await result(holder.run("darkroom/scene", {"prompt": "a"}))
        denied = "nothing"
    except sdk.PermissionDeniedError as error:
        denied = error.status_code
    print(json.dumps({
        "batch": [batch.status, batch.metadata, batch.request_counts.completed],
        "results": [[each.custom_id, each.response.status_code, len(each.response.body["data"])] for each in results],
        "errors": [[each.custom_id, each.response.status_code] for each in errors],
        "cancelled": cancelled.status in ("cancelling", "cancelled"), "early": early,
        "listed": [each.id for each in listed[:3]] == [other.id, failed.id, batch.id],
        "file": [file.filename, file.bytes == path.stat().st_size, file.expires_at - file.created_at],
        "files": [each.filename for each in files[:3]],
        "content": await result(client.files.content(file.id)) == path.read_bytes(),
        "retrieved": await result(client.files.retrieve(file.id)) == file,
        "outcomes": [type(getattr(each, "error", each)).__name__ for each in outcomes], "task": task.status,
        "token": [denied, token.scopes, (await result(holder.get(task))).status],
    }))
    await result(client.close())
    await result(holder.close())

asyncio.run(main())
`;

/** A run during which the api is killed; prints a line when the task exists. */
export const SURVIVES = `
import os
from darkroom import Darkroom

client = Darkroom(base_url=os.environ["DARKROOM_BASE_URL"], api_key=os.environ["DARKROOM_API_KEY"], max_retries=20)
said = []
def say(task):
    if not said:
        said.append(task)
        print(task.task_id, flush=True)
outputs = client.run("darkroom/motion", {"prompt": "a boat on the sea", "duration": 3}, on_update=say)
print(outputs[0].type, len(client.list().tasks), flush=True)
`;

/** Before a program against a server that does what a real one does only on bad days; `CLIENT` is replaced. */
const BEGINNING = `
import asyncio, json, os, time
from darkroom import AsyncDarkroom, Darkroom

async def result(value):
    return await value if asyncio.iscoroutine(value) else value

async def error_of(call):
    try:
        await result(call())
    except Exception as error:
        return type(error).__name__

async def seqs_of(events):
    if hasattr(events, "__aiter__"):
        return [event.seq async for event in events]
    return [event.seq for event in events]

async def ids_of(results):
    if hasattr(results, "__aiter__"):
        return [result.custom_id async for result in results]
    return [result.custom_id for result in results]

def client(**changes):
    return CLIENT(base_url=os.environ["SERVICE_URL"], api_key="key", **changes)
`;

/** @param body of a coroutine, which prints one line of JSON. */
export function faultProgram(client: string, body: string): string {
  const lines = body.trim().split('\n');
  const main = lines.map((line) => `    ${line.trimStart()}`).join('\n');
  return `${BEGINNING.replaceAll('CLIENT', client)}\nasync def main():\n${main}\n\nasyncio.run(main())\n`;
}
