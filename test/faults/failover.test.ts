/**
 * The server of the database is lost, and its standby is promoted, while tasks of every kind are in progress: with a
 * standby that commits wait for, and with one that lags behind. What each loses is in
 * docs/operations/backup-and-upgrade.md.
 */
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { after, afterEach, before, describe, it } from 'node:test';
import { waitFor } from '@darkroom/testing/wait-for';
import { createMany, createOne, validateTasks } from '../kill/workload.ts';
import type { Accepted } from '../kill/workload.ts';
import { startCallbackReceiver } from '../support/callback-receiver-process.ts';
import type { CallbackReceiver } from '../support/callback-receiver-process.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';
import { letPass } from '../support/let-pass.ts';
import { writeModelFiles } from '../support/model-files.ts';
import { startTestProvider } from '../support/test-provider/process.ts';
import type { TestProvider } from '../support/test-provider/process.ts';
import { startPostgresPair } from './postgres-pair.ts';
import type { PostgresPair } from './postgres-pair.ts';

const TASKS = 96;
/** By how much the standby is behind, in milliseconds. */
const LAG_MS = 1_500;

describe('a failover', () => {
  let provider: TestProvider;
  let receiver: CallbackReceiver;
  let modelsDir: string;
  before(async () => {
    [provider, receiver] = await Promise.all([startTestProvider(), startCallbackReceiver()]);
    modelsDir = await writeModelFiles(provider.url, {});
  });
  after(async () => {
    await Promise.all([provider?.stop(), receiver?.stop()]);
    await rm(modelsDir, { recursive: true, force: true });
  });

  let pair: PostgresPair;
  let darkroom: Darkroom;
  let account: TestAccount;
  const start = async (isSynchronous: boolean): Promise<void> => {
    pair = await startPostgresPair(isSynchronous);
    darkroom = await startDarkroom({
      databaseServer: pair.databaseUrl,
      isSupervised: true,
      environment: {
        MODELS_DIR: modelsDir,
        UPSTREAM_TEST_KEY: 'test-key',
        EGRESS_ALLOW: `${provider.url},${receiver.url}`,
        CALLBACK_OFFSETS_SECONDS: '0,1,2,4,8,16',
      },
    });
    account = await darkroom.createAccount({ runningCap: 60 });
  };
  afterEach(async () => {
    await darkroom?.stop();
    await pair?.stop();
  });

  const waitForBusyProvider = (round: string): Promise<void> =>
    waitFor(`the provider works on the ${round} round`, async () => {
      const submits = (await provider.readLog()).filter(({ prompt }) => prompt?.includes(`marker-${round}-`));
      return submits.length >= TASKS / 4;
    });

  /** Those that were accepted, and are unknown after the failover. */
  async function findLost(accepted: readonly Accepted[]): Promise<readonly Accepted[]> {
    const lost: Accepted[] = [];
    for (const task of accepted) {
      const found = await account.client.get(task.taskId);
      assert.ok([200, 404].includes(found.status), JSON.stringify(found.body));
      if (found.status === 404) lost.push(task);
    }
    return lost;
  }

  it('to a synchronous standby loses nothing', async (t) => {
    await start(true);
    const creating = createMany(account, receiver, 'synchronous', TASKS);
    await waitForBusyProvider('synchronous');
    await pair.failOver();
    const accepted = await creating;

    assert.deepEqual(await findLost(accepted), []);
    t.diagnostic(JSON.stringify(await validateTasks(darkroom, account, accepted, provider, receiver)));
  });

  it('to a standby that lags loses accepted tasks, which are created again under their keys and paid once', async (t) => {
    await start(false);
    const replicated = await createMany(account, receiver, 'replicated', TASKS);
    await waitForBusyProvider('replicated');
    pair.cut();
    const creating = createMany(account, receiver, 'lagging', TASKS);
    await letPass(LAG_MS);
    await pair.failOver();
    const accepted = await creating;

    const lost = await findLost(accepted);
    assert.ok(lost.length > 0);
    for (const { marker, taskId } of lost) {
      const again = await createOne(account, receiver, 'lagging', Number(marker.split('-')[2]));
      assert.equal(again.taskId, taskId);
    }
    assert.deepEqual(await findLost(replicated), []);
    t.diagnostic(`${lost.length} of ${TASKS} tasks of the last ${LAG_MS} ms were lost, and created again`);
    t.diagnostic(
      JSON.stringify(await validateTasks(darkroom, account, [...replicated, ...accepted], provider, receiver)),
    );
  });
});
