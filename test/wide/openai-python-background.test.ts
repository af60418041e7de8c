/** OpenAI's official client for Python, unmodified: its methods for responses in the background. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { textDefinition } from '../catalogue/definitions.ts';
import { SLOW_MODEL } from '../e2e/background-client.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { obtainPackage, whyNoPackage } from './python-environment.ts';

const CLIENT = { name: 'openai', version: '3.57.0' };

const REQUEST = `dict(model="${SLOW_MODEL}", input="Count from 1 to 400, please.", max_output_tokens=40, background=True)`;

/** Prints what each method returned, as JSON. */
const SYNC = `
import json, openai, time
client = openai.OpenAI()
body = ${REQUEST}
created = client.responses.create(**body)
response = created
while response.status in ("queued", "in_progress"):
    time.sleep(0.2)
    response = client.responses.retrieve(created.id)
stopped = client.responses.create(**body)
cancelled = [client.responses.cancel(stopped.id).status for _ in range(2)]
stream = client.responses.create(stream=True, **body)
for event in stream:
    if event.type == "response.created":
        id = event.response.id
    if event.sequence_number == 5:
        break
stream.close()
rest = list(client.responses.retrieve(id, stream=True, starting_after=5))
foreground = client.responses.create(model=body["model"], input="Count to 2.")
try:
    client.responses.cancel(foreground.id)
except openai.BadRequestError as error:
    rejected = error.status_code
deleted = client.responses.delete(created.id)
print(json.dumps(dict(created=[created.status, created.background], ended=[response.status, response.background],
    text=response.output_text[:2], cancelled=cancelled, rejected=rejected,
    numbers=[event.sequence_number for event in rest] == list(range(6, 6 + len(rest))), last=rest[-1].type,
    whole=rest[-1].response.output_text == client.responses.retrieve(id).output_text)))
`;
const ASYNC = `
import asyncio, json, openai
async def main():
    client = openai.AsyncOpenAI()
    async def polled():
        response = await client.responses.create(**${REQUEST})
        while response.status in ("queued", "in_progress"):
            await asyncio.sleep(0.2)
            response = await client.responses.retrieve(response.id)
        return response.status
    async def streamed():
        types = []
        async for event in await client.responses.create(stream=True, **${REQUEST}):
            types.append(event.type)
        return [types[1], types[-1]]
    async def cancelled():
        response = await client.responses.create(**${REQUEST})
        return (await client.responses.cancel(response.id)).status
    print(json.dumps(await asyncio.gather(polled(), polled(), streamed(), cancelled())))
asyncio.run(main())
`;

describe("OpenAI's official client for Python and the background", { skip: whyNoPackage(CLIENT) }, () => {
  let darkroom: Darkroom;
  let modelsDir: string;
  let python: string;
  before(async () => {
    python = await obtainPackage(CLIENT);
    modelsDir = await mkdtemp(path.join(os.tmpdir(), 'darkroom-python-background-'));
    const slow = textDefinition({
      name: SLOW_MODEL,
      upstreams: [{ protocol: 'embedded', model: 'conformance', parameters: { tokensPerSecond: 20 } }],
    });
    await writeFile(path.join(modelsDir, 'slow.json'), JSON.stringify(slow));
    darkroom = await startDarkroom({ apis: 1, environment: { MODELS_DIR: modelsDir } });
  });
  after(async () => {
    await darkroom?.stop();
    await rm(modelsDir, { recursive: true, force: true });
  });

  async function run(script: string): Promise<unknown> {
    const account = await darkroom.createAccount();
    const env = { ...process.env, OPENAI_BASE_URL: `${darkroom.url}/v1`, OPENAI_API_KEY: account.client.key };
    const { stdout } = await promisify(execFile)(python, ['-c', script], { env, timeout: 120_000 });
    return JSON.parse(stdout) as unknown;
  }

  it('creates, polls, cancels, streams and resumes', async () => {
    assert.deepEqual(await run(SYNC), {
      created: ['queued', true],
      ended: ['incomplete', true],
      text: '1,',
      cancelled: ['cancelled', 'cancelled'],
      rejected: 400,
      numbers: true,
      last: 'response.incomplete',
      whole: true,
    });
  });

  it('does so asynchronously', async () => {
    assert.deepEqual(await run(ASYNC), [
      'incomplete',
      'incomplete',
      ['response.queued', 'response.incomplete'],
      'cancelled',
    ]);
  });
});
