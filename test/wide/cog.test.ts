/**
 * Cog's own server: the adapter against it, and a whole service whose worker is killed without warning before, while
 * and after it submits a task. Skipped, with the reason, if there is no Python.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { newTaskId } from '../../src/domain/ids.ts';
import { createCogProvider } from '../../src/providers/cog/cog-provider.ts';
import { ProviderFailure, ProviderRejection } from '../../src/providers/provider.ts';
import type { GenerationRequest, ProducedFile } from '../../src/providers/provider.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { createSecretSource } from '../../src/upstreams/secrets.ts';
import { submitCall } from '../providers/submit-call.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, Role, TestAccount } from '../support/darkroom.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { startCogServer, whyNoCog } from './cog-server.ts';
import type { CogServer } from './cog-server.ts';

const PNG_SIGNATURE = '89504e470d0a1a0a';

describe("the server of Cog's own package", { skip: whyNoCog(), timeout: 300_000 }, () => {
  let cog: CogServer;
  before(async () => {
    cog = await startCogServer();
  });
  after(() => cog?.stop());

  /** What the model did for a prompt, in order. */
  const runsOf = async (prompt: string): Promise<readonly string[]> =>
    (await cog.readRuns()).filter((run) => run.prompt === prompt).map(({ what }) => what);
  const waitForRun = (prompt: string, what: string): Promise<void> =>
    waitFor(`${prompt} ${what}`, async () => (await runsOf(prompt)).includes(what));
  const waitForFree = (): Promise<void> => waitFor('the slot is free', async () => (await cog.health()) === 'READY');

  describe('as the adapter meets it', () => {
    const provider = createCogProvider({ secrets: createSecretSource({}), logger: silentLogger() });
    const request = (prompt: string, more: object = {}): GenerationRequest => ({
      taskId: newTaskId(),
      upstream: { protocol: 'cog', baseUrl: cog.url, model: 'test' },
      input: { prompt, ...more },
    });
    const filesOf = async (work: GenerationRequest): Promise<readonly ProducedFile[]> => {
      const submission = await provider.submit(work, submitCall());
      return submission.kind === 'done' ? submission.files : assert.fail('a job');
    };
    const hexOf = (file: ProducedFile | undefined): string =>
      file?.from === 'bytes' ? Buffer.from(file.bytes).toString('hex') : assert.fail('no bytes');

    it('brings the files of a prediction', async () => {
      const files = await filesOf(request('a lighthouse'));

      assert.equal(files.length, 1);
      assert.ok(hexOf(files[0]).startsWith(PNG_SIGNATURE));
    });

    it('reads the media that are sent inside the input', async () => {
      const directory = await mkdtemp(path.join(os.tmpdir(), 'cog-input-'));
      const file = path.join(directory, 'image');
      await writeFile(file, 'some bytes');
      const work = request('with an image', { image: 'upload:1' });
      const media = new Map([['image', { mimeType: 'image/png', path: file }]]);

      const [plain] = await filesOf(request('with an image'));
      const [other] = await filesOf({ ...work, media });

      assert.notEqual(hexOf(other), hexOf(plain));
      await rm(directory, { recursive: true });
    });

    it('fails when the model raises an exception', async () => {
      const error = await provider.submit(request('[fail]'), submitCall()).catch((reason: unknown) => reason);

      assert.ok(error instanceof ProviderFailure);
      assert.equal(error.reason, 'provider_error');
    });

    it('rejects work for a while when its slot is taken, and has stopped when the call was', async () => {
      const stop = new AbortController();
      const long = provider.submit(request('long', { seconds: 600 }), submitCall({ signal: stop.signal }));
      await waitForRun('long', 'begins');

      const rejection = await provider.submit(request('another'), submitCall()).catch((reason: unknown) => reason);
      stop.abort(new Error('stopped'));

      assert.ok(rejection instanceof ProviderRejection);
      assert.equal(rejection.reason, 'provider_unavailable');
      await assert.rejects(long, /stopped/);
      await waitForRun('long', 'stopped');
      await waitForFree();
      assert.deepEqual(await runsOf('another'), []);
    });

    it('joins a prediction of the same task that still runs, and begins no second one beside it', async () => {
      const work = request('joined', { seconds: 2 });
      const first = provider.submit(work, submitCall());
      await waitForRun('joined', 'begins');

      const second = await provider.submit(work, submitCall());

      assert.equal((await first).kind, 'done');
      assert.equal(second.kind, 'done');
      assert.deepEqual(await runsOf('joined'), ['begins', 'ends', 'begins', 'ends']);
    });
  });

  describe('behind a service whose worker is killed', () => {
    let modelsDir: string;
    let darkroom: Darkroom;
    let worker: Role;
    let account: TestAccount;
    before(async () => {
      modelsDir = await mkdtemp(path.join(os.tmpdir(), 'darkroom-models-'));
      const definition = {
        name: 'test/cog',
        modality: 'image',
        ownedBy: 'test',
        created: 0,
        description: 'A model in a container.',
        routes: { default: { upstreams: [{ protocol: 'cog', baseUrl: cog.url, model: 'test' }] } },
        inputSchema: {
          type: 'object',
          additionalProperties: false,
          required: ['prompt'],
          properties: { prompt: { type: 'string', maxLength: 100 }, seconds: { type: 'integer', maximum: 600 } },
        },
        pricing: { unit: 'task', usd: '0.01' },
        typicalSeconds: 1,
        examples: [{ prompt: 'anything' }],
      };
      await writeFile(path.join(modelsDir, 'cog.json'), JSON.stringify(definition));
      darkroom = await startDarkroom({ environment: { MODELS_DIR: modelsDir } });
      worker = darkroom.workers[0] ?? assert.fail('there is no worker');
      account = await darkroom.createAccount();
    });
    after(async () => {
      await darkroom?.stop();
      await rm(modelsDir, { recursive: true, force: true });
    });

    const create = async (input: { prompt: string; seconds?: number }): Promise<string> => {
      const created = await account.client.create({ model: 'test/cog', input });
      assert.equal(created.status, 200, JSON.stringify(created.body));
      return created.body.data.taskId;
    };
    const assertSucceeds = async (taskId: string): Promise<void> => {
      const task = await account.client.waitForTerminal(taskId);
      assert.equal(task.status, 'success', JSON.stringify(task));
    };

    it('runs a task once that was accepted while there was no worker', async () => {
      await worker.kill();
      const taskId = await create({ prompt: 'before' });
      await worker.start();

      await assertSucceeds(taskId);
      assert.deepEqual(await runsOf('before'), ['begins', 'ends']);
    });

    it('stops what a killed worker had begun, and does the work once more, never twice at a time', async () => {
      const taskId = await create({ prompt: 'during', seconds: 3 });
      await waitForRun('during', 'begins');
      await worker.kill();
      await worker.start();

      await assertSucceeds(taskId);
      assert.deepEqual(await runsOf('during'), ['begins', 'stopped', 'begins', 'ends']);
    });

    it('keeps what a task has brought when the worker is killed right after', async () => {
      const taskId = await create({ prompt: 'after' });
      await waitForRun('after', 'ends');
      await worker.kill();
      await worker.start();

      await assertSucceeds(taskId);
      const runs = await runsOf('after');
      // The response may have been on its way: then the work is done once more, under the same id.
      assert.ok(runs.length === 2 || runs.length === 4, runs.join());
    });

    it('stops a task at the container when it is cancelled', async () => {
      const taskId = await create({ prompt: 'cancelled', seconds: 600 });
      await waitForRun('cancelled', 'begins');

      await account.client.send('POST', `/v1/tasks/${taskId}/cancel`);

      const task = await account.client.waitForTerminal(taskId);
      assert.equal(task.error?.code, 'TASK_CANCELLED');
      await waitForRun('cancelled', 'stopped');
      await waitForFree();
    });
  });
});
