/**
 * Batches of OpenAI's official client for Python, unmodified, sync and async, against a running Darkroom. Skipped, with
 * the reason, if there is no Python.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { obtainPackage, whyNoPackage } from './python-environment.ts';

/** The newest one, and the last one of its first major version. */
const CLIENTS = ['3.57.0', '1.109.1'].map((version) => ({ name: 'openai', version }));

/** Runs both clients with the same code: what is awaitable is awaited. Prints what it found as JSON. */
const PROGRAM = `
import asyncio, inspect, json, sys, time
import openai

IMAGES = "/v1/images/generations"

async def done(value):
    return await value if inspect.isawaitable(value) else value

async def collected(items):
    if hasattr(items, "__aiter__"):
        return [item async for item in items]
    return list(items)

async def pause(client):
    if isinstance(client, openai.AsyncOpenAI):
        await asyncio.sleep(0.3)
    else:
        time.sleep(0.3)

def line(custom_id, **changes):
    body = {"model": "darkroom/scene", "prompt": "a lake", "size": "1024x1024", **changes}
    return {"custom_id": custom_id, "method": "POST", "url": IMAGES, "body": body}

async def create(client, *lines):
    text = "\\n".join(json.dumps(each) for each in lines)
    file = await done(client.files.create(file=("lines.jsonl", text.encode()), purpose="batch"))
    batch = client.batches.create(
        input_file_id=file.id, endpoint=IMAGES, completion_window="24h", metadata={"order": "7"})
    return await done(batch)

async def ended(client, batch):
    while batch.status not in ("completed", "failed", "expired", "cancelled"):
        await pause(client)
        batch = await done(client.batches.retrieve(batch.id))
    return batch

async def lines_of(client, file):
    content = await done(client.files.content(file))
    return [json.loads(each) for each in content.text.splitlines()]

async def rejected(call):
    try:
        await done(call())
    except openai.APIStatusError as error:
        return [type(error).__name__, error.status_code, error.param]

async def main():
    client = (openai.AsyncOpenAI if sys.argv[1] == "async" else openai.OpenAI)()
    created = await create(client, line("a"), line("b"), line("wrong", size="7x7"))
    batch = await ended(client, created)
    output = await lines_of(client, batch.output_file_id)
    errors = await lines_of(client, batch.error_file_id)

    # Enough lines that some have not had their turn.
    others = [await create(client, *[line(str(index)) for index in range(40)]) for _ in range(2)]
    cancelled = [await done(client.batches.cancel(each.id)) for each in others]
    statuses = [(await ended(client, each)).status for each in cancelled]
    listed = [each.id for each in await collected(client.batches.list(limit=1))]
    page = await done(client.batches.list(limit=2, after=listed[0]))

    print(json.dumps({
        "created": [created.object, created.endpoint, created.completion_window, created.metadata],
        "ended": [batch.status, batch.request_counts.total, batch.request_counts.completed, batch.request_counts.failed],
        "times": created.created_at <= batch.in_progress_at <= batch.completed_at <= batch.expires_at,
        "output": [[each["custom_id"], each["response"]["status_code"], each["error"]] for each in output],
        "urls": all(each["response"]["body"]["data"][0]["url"].startswith("http") for each in output),
        "errors": [[each["custom_id"], each["response"]["status_code"]] for each in errors],
        "param": errors[0]["response"]["body"]["error"]["param"],
        "cancelling": all(each.status in ("cancelling", "cancelled") for each in cancelled),
        "statuses": statuses,
        "listed": listed == [others[1].id, others[0].id, batch.id],
        "page": [each.id for each in page.data] == listed[1:] and not page.has_more,
        "rejections": [
            await rejected(lambda: client.batches.retrieve("batch_none")),
            await rejected(lambda: client.batches.cancel("batch_none")),
            await rejected(lambda: client.batches.cancel(batch.id)),
            await rejected(lambda: client.batches.create(
                input_file_id="file-none", endpoint=IMAGES, completion_window="24h")),
            await rejected(lambda: client.batches.list(after="batch_none").__iter__().__next__()
                if sys.argv[1] == "sync" else client.batches.list(after="batch_none")),
        ],
    }))

asyncio.run(main())
`;

const skip = CLIENTS.map(whyNoPackage).find((why) => why !== false) ?? false;

describe("batches of OpenAI's official client for Python", { skip, timeout: 900_000 }, () => {
  let darkroom: Darkroom;
  before(async () => {
    darkroom = await startDarkroom();
  });
  after(() => darkroom?.stop());

  for (const client of CLIENTS) {
    for (const kind of ['sync', 'async']) {
      it(`are created, retrieved, read, listed and cancelled, with ${client.version}, ${kind}`, async () => {
        const { client: account } = await darkroom.createAccount();
        const env = { ...process.env, OPENAI_BASE_URL: `${darkroom.url}/v1`, OPENAI_API_KEY: account.key };
        const python = await obtainPackage(client);
        const args = ['-W', 'ignore', '-c', PROGRAM, kind];
        const { stdout } = await promisify(execFile)(python, args, { env, timeout: 300_000 });

        assert.deepEqual(JSON.parse(stdout), {
          created: ['batch', '/v1/images/generations', '24h', { order: '7' }],
          ended: ['completed', 3, 2, 1],
          times: true,
          output: [
            ['a', 200, null],
            ['b', 200, null],
          ],
          urls: true,
          errors: [['wrong', 400]],
          param: 'size',
          cancelling: true,
          statuses: ['cancelled', 'cancelled'],
          listed: true,
          page: true,
          rejections: [
            ['NotFoundError', 404, null],
            ['NotFoundError', 404, null],
            ['BadRequestError', 400, null],
            ['BadRequestError', 400, 'input_file_id'],
            ['BadRequestError', 400, 'after'],
          ],
        });
      });
    }
  }
});
