/**
 * A worker that cannot reach Temporal for longer than the heartbeat timeout, while synchronous upstreams, which
 * answer a submit only with its result, are working: Temporal gives its tasks to another worker, which waits for the
 * first one's results.
 */
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { openLink } from '../chaos/world/proxy.ts';
import type { Link } from '../chaos/world/proxy.ts';
import { isWorkedOnBy } from '../support/at-work.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, Role, TestAccount } from '../support/darkroom.ts';
import { writeModelFiles } from '../support/model-files.ts';
import type { LogLine } from '../support/test-provider/log.ts';
import { startTestProvider } from '../support/test-provider/process.ts';
import type { TestProvider } from '../support/test-provider/process.ts';
import { temporalAddress } from '../support/test-namespace.ts';
import { waitFor } from '@darkroom/testing/wait-for';

const MODELS = ['test/openai', 'test/replicate', 'test/openai'];

describe('a worker that cannot reach Temporal while upstreams work', () => {
  let provider: TestProvider;
  let modelsDir: string;
  let link: Link;
  let darkroom: Darkroom;
  let account: TestAccount;
  let cutOff: Role;
  let other: Role;
  before(async () => {
    provider = await startTestProvider();
    modelsDir = await writeModelFiles(provider.url);
    link = await openLink(Number(new URL(`http://${temporalAddress()}`).port));
    darkroom = await startDarkroom({
      workers: 2,
      environment: { MODELS_DIR: modelsDir, UPSTREAM_TEST_KEY: 'test-key', EGRESS_ALLOW: provider.url },
    });
    account = await darkroom.createAccount();
    [cutOff, other] = darkroom.workers as [Role, Role];
    await cutOff.kill('SIGTERM');
    await cutOff.start({ TEMPORAL_ADDRESS: `127.0.0.1:${link.port}` });
  });
  after(async () => {
    link?.set('pass');
    await darkroom?.stop();
    await link?.close();
    await provider?.stop();
    await rm(modelsDir, { recursive: true, force: true });
  });

  async function submitsOf(words: string): Promise<readonly LogLine[]> {
    return (await provider.readLog()).filter(({ kind, prompt }) => kind === 'submit' && prompt?.includes(words));
  }

  /** Tasks that the disconnected worker submits, and that the other one receives while their upstreams work. */
  async function begin(words: string): Promise<readonly string[]> {
    await other.kill('SIGTERM');
    const ids = await Promise.all(
      MODELS.map(async (model, index) => {
        const prompt = `${words} ${index} [${model === 'test/openai' ? 'hold' : 'hold-submit'}]`;
        const { body } = await account.client.create({ model, input: { prompt } });
        return body.data.taskId;
      }),
    );
    await waitFor('the provider has each of them', async () => (await submitsOf(words)).length === ids.length);
    link.set('half-open');
    await other.start();
    for (const taskId of ids) {
      await waitFor('the other worker has it', () => isWorkedOnBy(other, darkroom, taskId, 'submitGeneration'));
    }
    return ids;
  }

  it('loses none of their jobs, and submits none of them again', async () => {
    const ids = await begin('harbour');
    link.set('pass');
    await provider.release('harbour');

    const ends = await Promise.all(ids.map((taskId) => account.client.waitForTerminal(taskId)));
    assert.deepEqual(
      ends.map(({ status, error }) => error?.reason ?? status),
      MODELS.map(() => 'success'),
    );
    assert.equal((await submitsOf('harbour')).length, MODELS.length);
  });

  it('stops using an upstream when its task is cancelled meanwhile', async () => {
    const [taskId = ''] = await begin('quay');
    link.set('pass');
    assert.equal((await account.client.send('POST', `/v1/tasks/${taskId}/cancel`)).status, 200);

    assert.equal((await account.client.waitForTerminal(taskId)).error?.reason, 'cancelled');
    await waitFor('the upstream was left before it had answered', async () => {
      const log = await provider.readLog();
      return log.some(({ kind, prompt }) => kind === 'left' && prompt?.includes('quay 0') === true);
    });
  });
});
