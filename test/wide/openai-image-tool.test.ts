/**
 * The built-in tool `image_generation` of responses, with the embedded models, for OpenAI's official clients: JavaScript,
 * and Python sync and async. Their responses are validated against OpenAI's own document.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import type { ValidateFunction } from 'ajv/dist/2020.js';
import OpenAI from 'openai';
import sharp from 'sharp';
import { verifyLedger } from '../../src/billing/verify.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';
import { OPENAI_DOCUMENT, olderResponse, openAiSchemas } from './openai-schemas.ts';
import { obtainPackage, whyNoPackage } from './python-environment.ts';

const PYTHON_CLIENTS = [
  { name: 'openai', version: '3.57.0' },
  { name: 'openai', version: '1.109.1' },
];

const QUESTION = { model: 'darkroom/conformance-text', input: 'Generate an image of a lake.' };
const ASK = { ...QUESTION, tools: [{ type: 'image_generation' as const }] };
const SIZED_TOOL = { type: 'image_generation', size: '1536x1024', output_format: 'webp' } as const;
const SIZED = { ...QUESTION, tools: [SIZED_TOOL] };
const TYPES = ['image_generation_call', 'message'];
const STEPS = [
  'response.output_item.added',
  'response.image_generation_call.in_progress',
  'response.image_generation_call.generating',
  'response.image_generation_call.completed',
  'response.output_item.done',
];

const PROGRAM = `
import asyncio, inspect, json, sys
import openai

given = json.load(sys.stdin)
options = {"base_url": given["url"], "api_key": given["key"]}

async def done(value):
    return await value if inspect.isawaitable(value) else value

async def collected(stream):
    stream = await done(stream)
    if hasattr(stream, "__aiter__"):
        return [event async for event in stream]
    return list(stream)

async def main():
    client = openai.AsyncOpenAI(**options) if given["isAsync"] else openai.OpenAI(**options)
    created = await done(client.responses.create(**given["ask"]))
    images = [item for item in created.output if item.type == "image_generation_call"]
    read = await done(client.responses.retrieve(created.id))
    events = await collected(client.responses.create(stream=True, **given["ask"]))
    after = await done(client.responses.create(
        model=given["ask"]["model"], previous_response_id=created.id, input="What is 17 * 3?"))
    try:
        await done(client.responses.create(**{**given["ask"], "tools": [{"type": "image_generation", "size": "7x7"}]}))
        rejected = None
    except openai.BadRequestError as error:
        rejected = [error.status_code, error.param, error.code]
    print(json.dumps({
        "types": [item.type for item in created.output],
        "class": type(images[0]).__name__,
        "result": images[0].result,
        "isSame": read.output[0].result == images[0].result,
        "events": [event.type for event in events],
        "streamed": events[-1].response.output[0].result is not None,
        "after": after.output_text,
        "rejected": rejected,
    }))

asyncio.run(main())
`;

interface PythonOutcome {
  readonly types: readonly string[];
  readonly class: string;
  readonly result: string;
  readonly isSame: boolean;
  readonly events: readonly string[];
  readonly streamed: boolean;
  readonly after: string;
  readonly rejected: unknown;
}

describe('image_generation for official clients', { timeout: 900_000 }, () => {
  let darkroom: Darkroom;
  before(async () => {
    darkroom = await startDarkroom();
  });
  after(() => darkroom?.stop());

  const clientOf = (account: TestAccount): OpenAI =>
    new OpenAI({ apiKey: account.client.key, baseURL: `${darkroom.url}/v1` });

  async function imageIn({ output: [call] }: OpenAI.Responses.Response) {
    assert.ok(call?.type === 'image_generation_call');
    return sharp(Buffer.from(call.result ?? '', 'base64')).metadata();
  }

  it('generates an image in JavaScript, which can be read again', async () => {
    const account = await darkroom.createAccount();
    const { responses } = clientOf(account);
    const created = await responses.create(SIZED);
    assert.deepEqual(
      created.output.map(({ type }) => type),
      TYPES,
    );
    const { width, height, format } = await imageIn(created);
    assert.deepEqual([width, height, format], [1248, 832, 'webp']);
    const [made] = created.output as unknown as readonly Made[];
    assert.deepEqual([made?.size, made?.output_format], ['1248x832', 'webp']);
    assert.match(created.output_text, /^The image was generated/);
    assert.deepEqual((await responses.retrieve(created.id)).output, created.output);
    const task = await account.client.get(made?.task_id ?? '');
    assert.equal(task.body.data.status, 'success');
    assert.deepEqual(await verifyLedger(darkroom.testDatabase.database), []);
  });

  it('streams its steps in JavaScript, and again from the stored response', async () => {
    const account = await darkroom.createAccount();
    const { responses } = clientOf(account);
    const events = await collected(await responses.create({ ...ASK, stream: true }));
    const types = events.map(({ type }) => type);
    assert.deepEqual(types.slice(2, 7), STEPS);
    const response = responseOf(events);
    assert.equal((await imageIn(response)).width, 1024);
    assert.deepEqual(await collected(await responses.retrieve(response.id, { stream: true })), events);
  });

  for (const client of PYTHON_CLIENTS) {
    for (const isAsync of [false, true]) {
      const mode = isAsync ? 'async' : 'sync';
      it(`generates an image in Python, with ${client.version}, ${mode}`, { skip: whyNoPackage(client) }, async () => {
        const account = await darkroom.createAccount();
        const given = { url: `${darkroom.url}/v1`, key: account.client.key, isAsync, ask: ASK };
        const python = await obtainPackage(client);
        const child = spawn(python, ['-W', 'ignore', '-c', PROGRAM], { stdio: ['pipe', 'pipe', 'inherit'] });
        child.stdin.end(JSON.stringify(given));
        const outcome = JSON.parse(await text(child.stdout)) as PythonOutcome;

        const { result, events, ...rest } = outcome;
        assert.equal((await sharp(Buffer.from(result, 'base64')).metadata()).format, 'png');
        assert.deepEqual(events.slice(2, 7), STEPS);
        assert.deepEqual(rest, {
          types: TYPES,
          class: 'ImageGenerationCall',
          isSame: true,
          streamed: true,
          after: '17 * 3 = 51',
          rejected: [400, 'tools.0.size', 'invalid_value'],
        });
      });
    }
  }

  describe("in OpenAI's document", { skip: whyNoPackage(OPENAI_DOCUMENT) }, () => {
    let validate: (name: string) => ValidateFunction;
    before(async () => {
      validate = await openAiSchemas();
    });

    it('are the response, its events and the request', async () => {
      const account = await darkroom.createAccount();
      const events = await collected(await clientOf(account).responses.create({ ...SIZED, stream: true }));
      const ofImages = events.filter(({ type }) => type.includes('image_generation_call'));
      assert.equal(ofImages.length, 3);
      assertValid(validate('ImageGenTool'), SIZED_TOOL);
      const [inProgress, generating, completed] = ofImages;
      assertValid(validate('ResponseImageGenCallInProgressEvent'), inProgress);
      assertValid(validate('ResponseImageGenCallGeneratingEvent'), generating);
      assertValid(validate('ResponseImageGenCallCompletedEvent'), completed);
      const ofItems = events.filter(({ type }) => type.startsWith('response.output_item.'));
      assert.equal(ofItems.length, 4);
      for (const event of ofItems) {
        const name = event.type.endsWith('added') ? 'ResponseOutputItemAddedEvent' : 'ResponseOutputItemDoneEvent';
        assertValid(validate(name), event);
      }
      const response = responseOf(events);
      assertValid(validate('ImageGenToolCall'), response.output[0]);
      assertValid(validate('Response'), olderResponse(response));
      assert.equal(validate('ImageGenToolCall')({ type: 'image_generation_call' }), false);
    });
  });
});

function assertValid(validate: ValidateFunction, value: unknown): void {
  assert.ok(validate(value), JSON.stringify(validate.errors?.slice(0, 5)));
}

/** The whole response, which the last event contains. */
function responseOf(events: readonly OpenAI.Responses.ResponseStreamEvent[]): OpenAI.Responses.Response {
  const last = events.at(-1);
  assert.ok(last?.type === 'response.completed', last?.type);
  return last.response;
}

/** What an image generation call says of its image, and the types of the client do not have. */
interface Made {
  readonly size?: string;
  readonly output_format?: string;
  readonly task_id?: string;
}

async function collected<Value>(values: AsyncIterable<Value>): Promise<Value[]> {
  const all: Value[] = [];
  for await (const value of values) all.push(value);
  return all;
}
