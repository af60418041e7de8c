/**
 * Every interface of every adapter through the whole service: one task each whose file is returned, and one each for
 * a worker that is killed without warning before, while and after it submits the work. The provider's own log shows
 * how often the work was accepted. And the files of videos, which their adapter fetches itself.
 */
import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { verifyLedger } from '../../src/billing/verify.ts';
import { loadModels } from '../../src/catalogue/load-models.ts';
import { isMediaModel } from '../../src/catalogue/text-definition.ts';
import { packageFile } from '../../src/config/package-root.ts';
import type { ApiTask } from '../support/api-client.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, Role, TestAccount } from '../support/darkroom.ts';
import type { LogLine, Protocol } from '../support/test-provider/log.ts';
import { drawImage } from '../support/test-provider/image.ts';
import { startTestProvider } from '../support/test-provider/process.ts';
import type { TestProvider } from '../support/test-provider/process.ts';
import { drawVideo, VIDEO } from '../support/test-provider/video.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { findBinding } from '../../src/providers/http/binding.ts';
import { PROTOCOLS } from '../../src/providers/protocols.ts';

/** Short enough to observe a state that lasts two seconds. */
const POLL_MS = 20;
const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** One interface of an adapter, behind a model of that name. */
interface Kind {
  readonly name: string;
  /** The test provider's interface. */
  readonly far: Protocol;
  readonly upstream: Readonly<Record<string, unknown>>;
  readonly inputOf: (prompt: string) => Readonly<Record<string, unknown>>;
  /** Of the output. */
  readonly mimeType: string;
  /**
   * What a kill means for work that was under way: `job`, it continues and is found again; `key`, it is submitted
   * once more under the same key; `lost`, its state is unknown, and it is not submitted again.
   */
  readonly afterKill: 'job' | 'key' | 'lost';
}

const prompted = (prompt: string) => ({ prompt });
const edited = (prompt: string) => ({ prompt, image: PIXEL });
const spoken = (text: string) => ({ text, voice: 'alloy' });

const examples = new Map(
  (await loadModels([packageFile('docs/examples')], PROTOCOLS))
    .filter(isMediaModel)
    .map((model) => [model.name, model]),
);
const described = (name: string) => {
  const upstream = examples.get(name)?.routes['default']?.upstreams[0];
  assert.ok(upstream !== undefined, `there is no example ${name}`);
  return { http: findBinding(upstream) };
};

const common = { inputOf: prompted, mimeType: 'image/png' };
const KINDS: readonly Kind[] = [
  { ...common, name: 'images', far: 'openai', upstream: { protocol: 'openai' }, afterKill: 'lost' },
  { ...common, name: 'edits', far: 'openai', upstream: { protocol: 'openai' }, inputOf: edited, afterKill: 'lost' },
  {
    name: 'speech',
    far: 'openai',
    upstream: { protocol: 'openai', api: 'speech' },
    inputOf: spoken,
    mimeType: 'audio/wav',
    afterKill: 'lost',
  },
  { ...common, name: 'videos', far: 'openai', upstream: { protocol: 'openai', api: 'videos' }, afterKill: 'job' },
  { ...common, name: 'replicate', far: 'replicate', upstream: { protocol: 'replicate' }, afterKill: 'job' },
  { ...common, name: 'tasks', far: 'tasks', upstream: { protocol: 'tasks' }, afterKill: 'job' },
  { ...common, name: 'cog', far: 'cog', upstream: { protocol: 'cog', concurrency: 8 }, afterKill: 'key' },
  {
    ...common,
    name: 'fal',
    far: 'fal',
    upstream: { protocol: 'http', ...described('fal/flux-dev') },
    afterKill: 'job',
  },
  {
    ...common,
    name: 'runway',
    far: 'runway',
    upstream: { protocol: 'http', ...described('runway/text-to-video') },
    afterKill: 'job',
  },
];

let provider: TestProvider;
let modelsDir: string;
let darkroom: Darkroom;
let account: TestAccount;
before(async () => {
  provider = await startTestProvider();
  modelsDir = await mkdtemp(path.join(os.tmpdir(), 'darkroom-models-'));
  const models = [
    ...KINDS.map((kind) => modelOf(kind, provider.url)),
    videoModelOf('clips', provider.url, 600),
    videoModelOf('hurried-clips', provider.url, 3),
  ];
  for (const [index, model] of models.entries()) {
    await writeFile(path.join(modelsDir, `${index}.json`), JSON.stringify(model));
  }
  darkroom = await startDarkroom({ environment: { MODELS_DIR: modelsDir, UPSTREAM_TEST_KEY: 'test-key' } });
  account = await darkroom.createAccount({ runningCap: KINDS.length });
});
after(async () => {
  await darkroom?.stop();
  await provider?.stop();
  await rm(modelsDir, { recursive: true, force: true });
});

describe('an adapter', () => {
  const worker = (): Role => darkroom.workers[0] ?? assert.fail('there is no worker');

  const create = async (kind: Kind, prompt: string): Promise<string> => {
    const created = await account.client.create({ model: `test/${kind.name}`, input: kind.inputOf(prompt) });
    assert.equal(created.status, 200, JSON.stringify(created.body));
    return created.body.data.taskId;
  };
  const linesOf = async (prompt: string): Promise<readonly LogLine[]> =>
    (await provider.readLog()).filter((line) => line.prompt === prompt);
  const submitsOf = async (prompt: string): Promise<readonly LogLine[]> =>
    (await linesOf(prompt)).filter(({ kind }) => kind === 'submit' || kind === 'replay');

  /** Creates a task of every kind whose prompt ends in a behaviour. */
  const createAll = (round: string, behaviour: string): Promise<readonly Started[]> =>
    Promise.all(
      KINDS.map(async (kind) => {
        const prompt = `${round} ${kind.name} ${behaviour}`;
        return { kind, prompt, taskId: await create(kind, prompt) };
      }),
    );
  const waitForAllSubmitted = async (started: readonly Started[]): Promise<void> => {
    for (const { prompt } of started) {
      await waitFor(`${prompt} is handed over`, async () => (await submitsOf(prompt)).length > 0, POLL_MS);
    }
  };
  const finish = ({ taskId }: Started): Promise<ApiTask> => account.client.waitForTerminal(taskId);

  it('returns the file that the upstream made, after one submit', async () => {
    for (const one of await createAll('alone', '[slow 100]')) {
      const task = await finish(one);

      assert.equal(task.status, 'success', `${one.kind.name}: ${JSON.stringify(task)}`);
      assert.equal(task.output?.[0]?.mimeType, one.kind.mimeType);
      assert.equal((await submitsOf(one.prompt)).length, 1, one.kind.name);
      if (one.kind.mimeType !== 'image/png') continue;
      const file = await fetch(task.output?.[0]?.url ?? '');
      assert.deepEqual(Buffer.from(await file.arrayBuffer()), await drawImage(one.prompt), one.kind.name);
    }
  });

  it('gets no submit while there is no worker, and each task once when there is one', async () => {
    await worker().kill();
    const started = await createAll('before', '');
    await worker().start();

    for (const one of started) {
      assert.equal((await finish(one)).status, 'success', one.kind.name);
      assert.equal((await submitsOf(one.prompt)).length, 1, one.kind.name);
    }
  });

  it('gets one submit, or several under one key, when the worker is killed before the response', async () => {
    const started = await createAll('during', '[hold-submit]');
    await waitForAllSubmitted(started);
    await worker().kill();
    await provider.release('during');
    await worker().start();

    for (const one of started) {
      const { kind, prompt } = one;
      const task = await finish(one);

      const submits = await submitsOf(prompt);
      const isKeyed = kind.name === 'tasks' || kind.name === 'cog';
      if (isKeyed) assert.equal(task.status, 'success', `${kind.name}: ${JSON.stringify(task)}`);
      else assert.equal(task.error?.reason, 'outcome_unknown', `${kind.name}: ${JSON.stringify(task)}`);
      const keys = new Set(submits.map(({ idempotencyKey }) => idempotencyKey));
      assert.ok(submits.length === 1 || (isKeyed && keys.size === 1), `${kind.name}: ${JSON.stringify(submits)}`);
    }
  });

  it('polls the same job again when the worker is killed while it waits', async () => {
    const started = await createAll('after', '[hold]');
    await waitForAllSubmitted(started);
    const jobs = started.filter(({ kind }) => kind.afterKill === 'job');
    await waitForPolled(jobs, linesOf);
    await worker().kill();
    await provider.release('after');
    await worker().start();

    for (const one of started) {
      const { kind, prompt } = one;
      const task = await finish(one);

      const submits = await submitsOf(prompt);
      if (kind.afterKill === 'lost') assert.equal(task.error?.reason, 'outcome_unknown', kind.name);
      else assert.equal(task.status, 'success', `${kind.name}: ${JSON.stringify(task)}`);
      if (kind.afterKill !== 'key') assert.equal(submits.length, 1, kind.name);
      assert.equal(new Set(submits.map(({ idempotencyKey }) => idempotencyKey)).size, 1, kind.name);
    }
  });
});

/**
 * A real MP4 is returned byte for byte, with the metadata of its container, and a file that is not one fails with its
 * reason. Only public addresses are allowed: the upstream itself serves the content.
 */
describe('a video of an upstream', { concurrency: 4 }, () => {
  interface Ended {
    readonly prompt: string;
    readonly task: ApiTask;
  }

  async function run(behaviour: string, model = 'test/clips'): Promise<Ended> {
    const prompt = `${randomUUID()} a harbour ${behaviour}`;
    const created = await account.client.create({ model, input: { prompt, duration: 2 } });
    assert.equal(created.status, 200, JSON.stringify(created.body));
    const task = await account.client.waitForTerminal(created.body.data.taskId);
    assert.deepEqual(await verifyLedger(darkroom.testDatabase.database), []);
    return { prompt, task };
  }
  const linesOf = async ({ prompt }: Ended, kind: LogLine['kind']): Promise<readonly LogLine[]> =>
    (await provider.readLog()).filter((line) => line.prompt === prompt && line.kind === kind);

  async function assertDelivered({ prompt, task }: Ended): Promise<void> {
    assert.equal(task.status, 'success', JSON.stringify(task));
    const [video, ...frames] = task.output ?? [];
    assert.ok(video);
    const original = await drawVideo(prompt);
    const bytes = Buffer.from(await (await fetch(video.url)).arrayBuffer());
    assert.ok(bytes.equals(original));
    assert.equal(video.sha256, createHash('sha256').update(original).digest('hex'));
    const { type, mimeType, sizeBytes, width, height, durationSeconds } = video as typeof video & {
      readonly durationSeconds?: number;
    };
    assert.deepEqual(
      { type, mimeType, sizeBytes, width, height, durationSeconds },
      {
        type: 'video',
        mimeType: 'video/mp4',
        sizeBytes: original.length,
        width: VIDEO.width,
        height: VIDEO.height,
        durationSeconds: VIDEO.frames / VIDEO.fps,
      },
    );
    assert.deepEqual(
      frames.map((frame) => [frame.type, frame.width, frame.height]),
      ['first_frame', 'last_frame', 'thumbnail'].map((type) => [type, VIDEO.width, VIDEO.height]),
    );
    // Two seconds were requested.
    assert.deepEqual(task.billing, { currency: 'USD', held: '0.02', captured: '0.015', released: '0.005' });
  }

  function assertFailed({ task }: Ended, reason: string): void {
    assert.equal(task.status, 'fail', JSON.stringify(task));
    assert.equal(task.error?.reason, reason);
    assert.deepEqual(task.billing, { currency: 'USD', held: '0.02', captured: '0', released: '0.02' });
  }

  it('is archived byte for byte, with its size and duration, and its frames beside it', async () => {
    const ended = await run('[video] [slow 300]');

    await assertDelivered(ended);
    const [submit, ...others] = await linesOf(ended, 'submit');
    assert.deepEqual(others, []);
    assert.equal(submit?.fields?.['seconds'], '2');
    // On a slow machine an attempt at the archive may time out, and another one downloads it.
    const bearers = (await linesOf(ended, 'file')).map(({ bearer }) => bearer);
    assert.deepEqual(new Set(bearers), new Set(['test-key']));
  });

  it('is downloaded again, and not generated again, when the connection breaks midway', async () => {
    const ended = await run('[video] [break-file 2]');

    await assertDelivered(ended);
    assert.ok((await linesOf(ended, 'file')).length >= 3);
    assert.equal((await linesOf(ended, 'submit')).length, 1);
  });

  it('fails as timed_out when the connection keeps breaking until the archiving deadline', async () => {
    const ended = await run('[video] [break-file 1000]', 'test/hurried-clips');

    assertFailed(ended, 'timed_out');
    assert.equal((await linesOf(ended, 'submit')).length, 1);
  });

  for (const [what, behaviour] of [
    ['is a page', '[html file]'],
    ['is not there', '[404 file]'],
    ['ends within its first mark', '[video] [cut-file 6]'],
    ['ends before it says what it holds', '[video] [cut-file 40]'],
    ['ends within its index', '[video] [cut-file 400]'],
  ] as const) {
    it(`is not delivered when its content ${what}`, async () => {
      const ended = await run(behaviour);

      assertFailed(ended, 'no_output');
    });
  }
});

interface Started {
  readonly kind: Kind;
  readonly prompt: string;
  readonly taskId: string;
}

/** Waits until each job was polled: its id is recorded by then. */
async function waitForPolled(
  jobs: readonly Started[],
  linesOf: (prompt: string) => Promise<readonly LogLine[]>,
): Promise<void> {
  const isPolled = async (prompt: string) => (await linesOf(prompt)).some(({ kind }) => kind === 'poll');
  for (const { prompt } of jobs) await waitFor(`${prompt} is asked about`, () => isPolled(prompt), POLL_MS);
}

function modelOf(
  { name, far, upstream, inputOf, mimeType }: Kind,
  providerUrl: string,
): Readonly<Record<string, unknown>> {
  const text = { type: 'string', minLength: 1, maxLength: 4_000 };
  const image = { type: 'string', maxLength: 10_000, pattern: '^data:image/png;base64,', contentMediaType: 'image/*' };
  const fields: Readonly<Record<string, unknown>> = { prompt: text, text, voice: text, image };
  const names = Object.keys(inputOf(''));
  return {
    name: `test/${name}`,
    modality: mimeType.split('/')[0],
    ownedBy: 'test',
    created: 0,
    description: `The test provider, by ${name}.`,
    routes: {
      default: {
        upstreams: [
          { baseUrl: `${providerUrl}/${far}/v1`, secret: 'test', model: 'test/model', id: name, ...upstream },
        ],
      },
    },
    inputSchema: {
      type: 'object',
      additionalProperties: false,
      required: names,
      properties: Object.fromEntries(names.map((each) => [each, fields[each]])),
    },
    pricing: { unit: 'task', usd: '0.01' },
    typicalSeconds: 1,
    examples: [inputOf('anything')],
  };
}

/** A video model, a cent per second, behind the `/videos` of the test provider. */
function videoModelOf(name: string, providerUrl: string, archivingSeconds: number): Readonly<Record<string, unknown>> {
  const upstream = { protocol: 'openai', api: 'videos', secret: 'test', model: 'test/video', id: name };
  return {
    name: `test/${name}`,
    modality: 'video',
    ownedBy: 'test',
    created: 0,
    description: 'The test provider, by videos.',
    routes: { default: { upstreams: [{ ...upstream, baseUrl: `${providerUrl}/openai/v1` }] } },
    inputSchema: {
      type: 'object',
      additionalProperties: false,
      required: ['prompt', 'duration'],
      properties: {
        prompt: { type: 'string', minLength: 1, maxLength: 4_000 },
        duration: { type: 'integer', minimum: 1, maximum: 10 },
      },
    },
    pricing: { unit: 'second', usd: '0.01', duration: { field: 'duration', default: 2 } },
    limits: { archivingSeconds },
    typicalSeconds: 1,
    examples: [{ prompt: 'anything', duration: 2 }],
  };
}
