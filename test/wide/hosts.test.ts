/**
 * Faults between and on the hosts of an installation, one after the other, while clients create tasks of every kind:
 * nothing is lost, nothing is bought twice, and after each fault the service recovers by itself. Skipped, with the
 * reason, where there can be no hosts.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { letPass } from '../support/let-pass.ts';
import { whyNoCaddy } from '../deploy/caddy-program.ts';
import { installOtherRelease, readReleases } from '../deploy/released-worker.ts';
import { between, far, frozen, lost, replaced } from '../hosts/faults.ts';
import type { Fault } from '../hosts/faults.ts';
import { startInstallation } from '../hosts/installation.ts';
import type { Installation } from '../hosts/installation.ts';
import { startFlow } from '../hosts/flow.ts';
import { FIRST_BUILD_ID } from '../hosts/roles.ts';
import { upgrade } from '../hosts/upgrade.ts';
import { Network, whyNoHosts } from '../hosts/network.ts';
import { whyNoRouter } from '../hosts/router.ts';
import { createMany, createOne, validateTasks } from '../kill/workload.ts';
import type { Accepted } from '../kill/workload.ts';
import { startCallbackReceiver } from '../support/callback-receiver-process.ts';
import type { CallbackReceiver } from '../support/callback-receiver-process.ts';
import { writeModelFiles } from '../support/model-files.ts';
import { startTestProvider } from '../support/test-provider/process.ts';
import type { TestProvider } from '../support/test-provider/process.ts';
import { whyNoPgBouncer } from '../support/pgbouncer-program.ts';
import { whyNoS3Server } from '../support/versitygw.ts';

/** Created around each fault. */
const TASKS = 24;
const FAULT_MS = 15_000;
const NEXT_BUILD_ID = '1.1.0';

const countOfAccount = {
  name: 'test_count_tasks',
  text: 'SELECT count(*)::integer AS count FROM tasks WHERE account_id = $1',
};

const whyNo = whyNoHosts() || whyNoS3Server() || whyNoPgBouncer() || whyNoCaddy();

describe('an installation on several hosts', { skip: whyNo }, () => {
  let network: Network;
  let provider: TestProvider;
  let receiver: CallbackReceiver;
  let modelsDir: string;
  let installation: Installation;
  const closing: (() => Promise<unknown>)[] = [];
  const accepted: Accepted[] = [];

  before(async () => {
    network = await Network.open();
    [provider, receiver] = await Promise.all([
      startTestProvider(0, network.outside),
      startCallbackReceiver(network.outside),
    ]);
    closing.push(
      () => provider.stop(),
      () => receiver.stop(),
    );
    modelsDir = await writeModelFiles(provider.url);
    closing.push(() => rm(modelsDir, { recursive: true, force: true }));
    installation = await startInstallation(network, { modelsDir, egressAllow: `${provider.url},${receiver.url}` });
    closing.push(() => installation.close());
  });
  after(async () => {
    for (const close of closing.toReversed()) await close();
  });

  const FAULTS: Readonly<Record<string, Fault>> = {
    'api-1 and the pooler are partitioned': between('api-1', 'pooler', 'both'),
    'api-2 and Temporal are partitioned': between('api-2', 'temporal', 'both'),
    'the proxy and api-1 are partitioned': between('proxy', 'api-1', 'both'),
    'the pooler and the database are partitioned': between('pooler', 'postgres-1', 'both'),
    'generation-1 and the pooler are partitioned': between('generation-1', 'pooler', 'both'),
    'generation-1 and Temporal are partitioned': between('generation-1', 'temporal', 'both'),
    'generation-2 and the object store are partitioned': between('generation-2', 's3', 'both'),
    'archive-1 and the object store are partitioned': between('archive-1', 's3', 'both'),
    'packets from the pooler to generation-2 are lost': between('pooler', 'generation-2', 'from'),
    'packets from the database to the pooler are lost': between('postgres-1', 'pooler', 'from'),
    'packets from archive-1 to Temporal are lost': between('archive-1', 'temporal', 'from'),
    'packets from api-1 to Temporal are lost': between('api-1', 'temporal', 'from'),
    'packets from api-2 to the proxy are lost': between('api-2', 'proxy', 'from'),
    'the pooler is far from the database': far('pooler', 'postgres-1'),
    'api-1 is far from the proxy': far('api-1', 'proxy'),
    'generation-1 is far from Temporal': far('generation-1', 'temporal'),
    'generation-2 is far from the pooler': far('generation-2', 'pooler'),
    'archive-1 is far from the object store': far('archive-1', 's3'),
    'the standby is far from the database': far('postgres-2', 'postgres-1'),
    'api-1 is frozen': frozen('api-1'),
    'generation-1 is frozen': frozen('generation-1'),
    'archive-1 is frozen': frozen('archive-1'),
    'Temporal is frozen': frozen('temporal'),
    'the pooler is frozen': frozen('pooler'),
    'the proxy is frozen': frozen('proxy'),
    'the database is frozen': frozen('postgres-1'),
    'api-2 is lost': lost('api-2'),
    'generation-2 is lost': lost('generation-2'),
    'archive-1 is lost': lost('archive-1'),
    'Temporal is lost': lost('temporal'),
    'the pooler is lost': lost('pooler'),
    'the proxy is lost': lost('proxy'),
    'the object store is lost': lost('s3'),
    'every role is replaced': replaced('api-1', 'api-2', 'generation-1', 'generation-2', 'archive-1'),
    'the database is lost, and its standby promoted': {
      async begin({ failOver }) {
        await failOver();
        return undefined;
      },
    },
  };

  async function countTasks(): Promise<number> {
    const { testDatabase, account } = installation;
    const [row] = await testDatabase.database.query<{ count: number }>(countOfAccount, [account.id]);
    return row?.count ?? 0;
  }

  /** A new task, from its creation to its end. */
  async function succeed(round: string): Promise<Accepted> {
    const { account } = installation;
    const task = await createOne(account, receiver, round, 0);
    assert.equal((await account.client.waitForTerminal(task.taskId)).status, 'success');
    return task;
  }

  for (const [round, [name, fault]] of Object.entries(FAULTS).entries()) {
    it(`recovers when ${name}`, { skip: fault.isSurvived === true && whyNoRouter() }, async (t) => {
      const { account } = installation;
      const creating = createMany(account, receiver, `hosts${round}`, TASKS);
      const heal = await fault.begin(installation);
      if (heal !== undefined) {
        if (fault.isSurvived === true) accepted.push(await succeed(`during${round}`));
        await letPass(FAULT_MS);
        await heal();
      }
      const healedAt = performance.now();
      const probe = await succeed(`probe${round}`);
      const recoveredMs = performance.now() - healedAt;
      const created = await creating;
      const ofRound = [...created, probe];
      accepted.push(...ofRound);

      const counts = await validateTasks(installation, account, ofRound, provider, receiver);
      assert.deepEqual(account.client.unclear, [], 'each answer says what is wrong');
      assert.equal(await countTasks(), accepted.length, 'no create was repeated as a second task');
      const seen = [...account.client.takeSeen()].map(([what, count]) => `${what}: ${count}`);
      t.diagnostic(`recovered after ${(recoveredMs / 1_000).toFixed(1)} s: ${JSON.stringify(counts)}`);
      t.diagnostic(`clients saw ${seen.join(', ')}`);
    });
  }

  it('upgrades every role while tasks keep coming', async (t) => {
    const { account, namespace } = installation;
    const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-release-'));
    closing.push(() => rm(directory, { recursive: true, force: true }));
    const { program } = await installOtherRelease(path.join(directory, 'other'));
    account.client.takeSeen();

    const flow = startFlow(installation, receiver, 'upgrade');
    await upgrade(installation, { buildId: NEXT_BUILD_ID, program }, (step) => {
      t.diagnostic(`after ${flow.accepted.length} tasks, ${step}`);
    });
    const created = [...(await flow.stop()), await succeed('upgraded')];
    accepted.push(...created);

    const counts = await validateTasks(installation, account, created, provider, receiver);
    assert.equal(counts.success, created.length, 'none failed');
    assert.deepEqual([...account.client.takeSeen().keys()], ['200'], 'clients noticed nothing');
    const byBuild = new Map<string, number>();
    for (const { taskId } of created) {
      await namespace.client.workflow.getHandle(taskId).result();
      const { builds, failedWorkflowTasks } = await readReleases(namespace.client, taskId);
      assert.equal(builds.length, 1, `${taskId} ran on ${JSON.stringify(builds)}`);
      assert.equal(failedWorkflowTasks, 0, taskId);
      const [build = 'none'] = builds;
      byBuild.set(build, (byBuild.get(build) ?? 0) + 1);
    }
    assert.deepEqual([...byBuild.keys()].toSorted(), [FIRST_BUILD_ID, NEXT_BUILD_ID]);
    t.diagnostic(`tasks by release: ${JSON.stringify(Object.fromEntries(byBuild))}`);
  });

  it('has lost nothing, and bought nothing twice, after all of them', async (t) => {
    const { account } = installation;
    t.diagnostic(JSON.stringify(await validateTasks(installation, account, accepted, provider, receiver)));
    assert.ok(accepted.length >= TASKS);
  });
});
