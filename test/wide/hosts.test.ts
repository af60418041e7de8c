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
import { waitFor } from '@darkroom/testing/wait-for';
import { listRepairs } from '../../src/tasks/repair/repair-record.ts';
import { letPass } from '../support/let-pass.ts';
import { whyNoCaddy } from '../deploy/caddy-program.ts';
import { installOtherRelease, readReleases } from '../deploy/released-worker.ts';
import { between, far, frozen, lost, replaced, survived } from '../hosts/faults.ts';
import type { Fault } from '../hosts/faults.ts';
import { startInstallation } from '../hosts/installation.ts';
import type { Installation } from '../hosts/installation.ts';
import { startFlow } from '../hosts/flow.ts';
import { FIRST_BUILD_ID } from '../hosts/roles.ts';
import { upgrade } from '../hosts/upgrade.ts';
import { TEMPORAL_HOSTS, whyNoTemporalServices } from '../hosts/temporal.ts';
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

const whyNo = whyNoHosts() || whyNoS3Server() || whyNoPgBouncer() || whyNoCaddy() || whyNoTemporalServices();

describe('an installation on several hosts', { skip: whyNo }, () => {
  let network: Network;
  let provider: TestProvider;
  let receiver: CallbackReceiver;
  let modelsDir: string;
  let installation: Installation;
  const closing: (() => Promise<unknown>)[] = [];
  const accepted: Accepted[] = [];
  let currentBuildId = FIRST_BUILD_ID;
  /** Seconds until a new task had succeeded, or, after a loss of Temporal's histories, until all tasks had ended. */
  const recoveries: { readonly fault: string; readonly seconds: number }[] = [];

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
    'api-1 and the pooler are partitioned': survived(between('api-1', 'pooler', 'both')),
    'api-2 and Temporal are partitioned': between('api-2', 'temporal-frontend', 'both'),
    'the proxy and api-1 are partitioned': survived(between('proxy', 'api-1', 'both')),
    'the pooler and the database are partitioned': between('pooler', 'postgres-1', 'both'),
    'generation-1 and the pooler are partitioned': between('generation-1', 'pooler', 'both'),
    'generation-1 and Temporal are partitioned': between('generation-1', 'temporal-frontend', 'both'),
    'generation-2 and the object store are partitioned': between('generation-2', 's3', 'both'),
    'archive-1 and the object store are partitioned': between('archive-1', 's3', 'both'),
    'packets from the pooler to generation-2 are lost': between('pooler', 'generation-2', 'from'),
    'packets from the database to the pooler are lost': between('postgres-1', 'pooler', 'from'),
    'packets from archive-1 to Temporal are lost': between('archive-1', 'temporal-frontend', 'from'),
    'packets from api-1 to Temporal are lost': between('api-1', 'temporal-frontend', 'from'),
    'packets from api-2 to the proxy are lost': survived(between('api-2', 'proxy', 'from')),
    "Temporal's frontend and its history service are partitioned": between(
      'temporal-frontend',
      'temporal-history',
      'both',
    ),
    "Temporal's history and matching services are partitioned": between(
      'temporal-history',
      'temporal-matching',
      'both',
    ),
    "Temporal's history service and its database are partitioned": between(
      'temporal-history',
      'temporal-postgres',
      'both',
    ),
    'the pooler is far from the database': far('pooler', 'postgres-1'),
    'api-1 is far from the proxy': far('api-1', 'proxy'),
    'generation-1 is far from Temporal': far('generation-1', 'temporal-frontend'),
    'generation-2 is far from the pooler': far('generation-2', 'pooler'),
    'archive-1 is far from the object store': far('archive-1', 's3'),
    'the standby is far from the database': far('postgres-2', 'postgres-1'),
    'api-1 is frozen': survived(frozen('api-1')),
    'generation-1 is frozen': frozen('generation-1'),
    'archive-1 is frozen': frozen('archive-1'),
    "Temporal's frontend is frozen": frozen('temporal-frontend'),
    "Temporal's history service is frozen": frozen('temporal-history'),
    "Temporal's matching service is frozen": frozen('temporal-matching'),
    'the pooler is frozen': frozen('pooler'),
    'the proxy is frozen': frozen('proxy'),
    'the database is frozen': frozen('postgres-1'),
    'api-2 is lost': survived(lost('api-2')),
    'generation-2 is lost': lost('generation-2'),
    'archive-1 is lost': lost('archive-1'),
    "Temporal's frontend is lost": lost('temporal-frontend'),
    "Temporal's history service is lost": lost('temporal-history'),
    "Temporal's matching service is lost": lost('temporal-matching'),
    "Temporal's worker service is lost": survived(lost('temporal-worker')),
    "Temporal's database is lost": lost('temporal-postgres'),
    'all of Temporal is lost': lost(...TEMPORAL_HOSTS, 'temporal-postgres'),
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
    it(`recovers when ${name}`, { skip: fault.needsRouter === true && whyNoRouter() }, async (t) => {
      const { account } = installation;
      const creating = createMany(account, receiver, `hosts${round}`, TASKS);
      const heal = await fault.begin(installation);
      if (heal !== undefined) {
        try {
          if (fault.isSurvived === true) accepted.push(await succeed(`during${round}`));
          await letPass(FAULT_MS);
        } finally {
          await heal();
        }
      }
      const healedAt = performance.now();
      const probe = await succeed(`probe${round}`);
      const seconds = secondsSince(healedAt);
      recoveries.push({ fault: name, seconds });
      const created = await creating;
      const ofRound = [...created, probe];
      accepted.push(...ofRound);

      const counts = await validateTasks(installation, account, ofRound, provider, receiver);
      assert.deepEqual(account.client.takeUnclear(), [], 'each answer says what is wrong');
      assert.equal(await countTasks(), accepted.length, 'no create was repeated as a second task');
      const seen = [...account.client.takeSeen()].map(([what, count]) => `${what}: ${count}`);
      t.diagnostic(`recovered after ${seconds} s: ${JSON.stringify(counts)}`);
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
    currentBuildId = NEXT_BUILD_ID;
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

  for (const [by, what] of [
    ['copy', 'an older one, which was restored'],
    ['nothing', 'an empty one'],
  ] as const) {
    it(`continues every task when Temporal comes back with ${what}`, async (t) => {
      const { account, namespace, versions, testDatabase } = installation;
      const past = await createMany(account, receiver, `past-${by}`, TASKS);
      if (by === 'copy') await installation.saveHistory();
      // They end in the time that Temporal forgets.
      for (const { taskId } of past) await account.client.waitForTerminal(taskId);
      const began = await lastRepair();
      const creating = createMany(account, receiver, `open-${by}`, TASKS);
      await waitForBusyProvider(`open-${by}`);
      await installation.replaceHistory(by);
      const cameBackAt = performance.now();
      if (by === 'nothing') {
        // As docs/operations/scale.md describes for operators.
        await installation.migrate();
        await versions.promote(currentBuildId);
      }
      const created = [...past, ...(await creating)];
      accepted.push(...created);

      for (const { taskId } of created) await account.client.waitForTerminal(taskId);
      const seconds = secondsSince(cameBackAt);
      recoveries.push({ fault: `Temporal comes back with ${what}`, seconds });
      const counts = await validateTasks(installation, account, created, provider, receiver);
      await waitFor('no workflow of a task is left', async () => {
        const open = `WorkflowType = 'mediaTask' AND ExecutionStatus = 'Running'`;
        return (await namespace.client.workflow.count(open)).count === 0;
      });
      const { repairs } = await listRepairs(testDatabase.database, { size: 1_000 });
      const restarted = repairs.filter(({ id, kind }) => id > began && kind === 'restarted');
      assert.ok(restarted.length > 0, 'the repair reports what it has restarted');
      t.diagnostic(`every task ended after ${seconds} s: ${JSON.stringify(counts)}`);
      t.diagnostic(`the repair reports ${restarted.length} restarted of ${created.length}`);
    });
  }

  async function lastRepair(): Promise<bigint> {
    const { repairs } = await listRepairs(installation.testDatabase.database, { size: 1 });
    return repairs[0]?.id ?? 0n;
  }

  /** Waits until tasks of this round are being worked on. */
  async function waitForBusyProvider(round: string): Promise<void> {
    await waitFor(`the provider works on ${round}`, async () =>
      (await provider.readLog()).some(({ kind, prompt }) => kind === 'submit' && prompt?.includes(round) === true),
    );
  }

  it('has lost nothing, and bought nothing twice, after all of them', async (t) => {
    const { account } = installation;
    const counts = await validateTasks(installation, account, accepted, provider, receiver);
    assert.equal(await countTasks(), accepted.length);
    assert.ok(accepted.length >= TASKS);
    for (const { fault, seconds } of recoveries) t.diagnostic(`${seconds.toFixed(1).padStart(6)} s: ${fault}`);
    t.diagnostic(`${recoveries.length} faults, ${accepted.length} tasks, 0 violations: ${JSON.stringify(counts)}`);
  });
});

function secondsSince(startedAt: number): number {
  return Math.round((performance.now() - startedAt) / 100) / 10;
}
