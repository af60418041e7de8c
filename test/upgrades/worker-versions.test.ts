/**
 * Two releases side by side whose tasks cannot continue on one another: 500 tasks are in progress during a ramp, the
 * upgrade and the rollback, and while workers of both are restarted, which forgets what they had cached. Each task stays
 * on the release that began it, none fails, and none is submitted or charged twice (docs/decisions/0025).
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Worker } from '@temporalio/worker';
import { DeterminismViolationError } from '@temporalio/workflow';
import { waitFor } from '@darkroom/testing/wait-for';
import { startDarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { DarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { Role, TestAccount } from '../support/darkroom.ts';
import { WorkerVersions, installOtherRelease, readReleases } from '../deploy/released-worker.ts';
import type { OtherRelease } from '../deploy/released-worker.ts';
import '../support/quiet-temporal.ts';

const [OURS, OTHER] = ['1.0.0', '1.1.0'] as const;
/** How many tasks begin in each step: before the upgrade, during the ramp, after the upgrade and after the rollback. */
const STEPS = { before: 200, ramp: 100, upgraded: 100, rolledBack: 100 } as const;
type Step = keyof typeof STEPS;
const countJobs = {
  name: 'test_count_jobs',
  text: `SELECT count(*)::integer AS submitted FROM generations WHERE state = 'submitted' AND task_id = ANY ($1)`,
};
const MARKER = 'in progress';
/** Creates at the same time. */
const AT_ONCE = 10;

describe('two releases side by side', () => {
  let directory: string;
  let world: DarkroomWithUpstreams;
  let account: TestAccount;
  let other: OtherRelease;
  let versions: WorkerVersions;
  let otherWorker: Role;
  const tasks: Record<Step, string[]> = { before: [], ramp: [], upgraded: [], rolledBack: [] };
  const allTasks = (): string[] => Object.values(tasks).flat();

  before(async () => {
    directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-releases-'));
    other = await installOtherRelease(path.join(directory, 'other'));
    world = await startDarkroomWithUpstreams({ WORKER_BUILD_ID: OURS });
    account = await world.darkroom.createAccount({ runningCap: 1_000, queueCap: 1_000 });
    versions = new WorkerVersions(world.darkroom);
  });
  after(async () => {
    await world?.stop();
    await rm(directory, { recursive: true, force: true });
  });

  /** Begins the tasks of a step, and waits until the provider works on all of them. */
  async function begin(step: Step): Promise<void> {
    // Polled rarely: hundreds of jobs that wait must not be what the machine is busy with.
    const input = { prompt: `${MARKER} ${step} [hold] [poll-after 15]` };
    while (tasks[step].length < STEPS[step]) {
      const creates = Array.from({ length: AT_ONCE }, () => world.create(account, { model: 'test/tasks', input }));
      tasks[step].push(...(await Promise.all(creates)));
    }
    await waitFor(
      `the tasks of ${step} are in progress`,
      async () => (await countSubmitted(tasks[step])) === STEPS[step],
      1_000,
    );
  }

  /** How many of these have a job at the provider. */
  async function countSubmitted(taskIds: readonly string[]): Promise<number> {
    const [row] = await world.darkroom.testDatabase.database.query<{ submitted: number }>(countJobs, [taskIds]);
    return row?.submitted ?? 0;
  }

  async function buildsOf(step: Step): Promise<readonly string[]> {
    const read = await Promise.all(tasks[step].map((taskId) => readReleases(world.darkroom.temporal, taskId)));
    return [...new Set(read.flatMap(({ builds }) => builds.map((build) => build ?? 'none')))].toSorted();
  }

  it('gives a worker with a version no task until an operator has made it current', async () => {
    const taskId = await world.create(account, { model: 'test/openai', input: { prompt: 'a lake' } });
    const { database } = world.darkroom.testDatabase;
    await waitFor('its workflow was started', async () => {
      const rows = await database.query(
        { name: 'test_start_rows', text: `SELECT 1 FROM outbox WHERE subject_id = $1` },
        [taskId],
      );
      return rows.length === 0;
    });
    assert.deepEqual((await readReleases(world.darkroom.temporal, taskId)).builds, []);

    await versions.promote(OURS);

    assert.equal((await account.client.waitForTerminal(taskId)).status, 'success');
    assert.deepEqual((await readReleases(world.darkroom.temporal, taskId)).builds, [OURS]);
  });

  it('begins tasks where a ramp, an upgrade and a rollback say', async () => {
    await begin('before');
    otherWorker = await world.darkroom.addWorker({ WORKER_BUILD_ID: OTHER }, other.program);
    await versions.ramp(OTHER, 50);
    await begin('ramp');
    await versions.promote(OTHER);
    await begin('upgraded');
    await versions.promote(OURS);
    await begin('rolledBack');

    assert.deepEqual(await buildsOf('before'), [OURS]);
    assert.deepEqual(await buildsOf('ramp'), [OURS, OTHER]);
    assert.deepEqual(await buildsOf('upgraded'), [OTHER]);
    assert.deepEqual(await buildsOf('rolledBack'), [OURS]);
  });

  it('could not continue a task of one release on the other', async () => {
    const [taskId = ''] = tasks.before;
    const history = await world.darkroom.temporal.workflow.getHandle(taskId).fetchHistory();

    await assert.rejects(
      Worker.runReplayHistory({ workflowBundle: other.workflowBundle }, history, taskId),
      DeterminismViolationError,
    );
  });

  it('ends every task on the release that began it, once, also when its workers were restarted', async (t) => {
    const [ourWorker] = world.darkroom.workers;
    for (const worker of [ourWorker, otherWorker]) {
      await worker?.kill('SIGTERM');
      await worker?.start();
    }
    for (const step of Object.keys(STEPS)) await world.provider.release(`${MARKER} ${step}`);

    const ends = await Promise.all(allTasks().map((taskId) => account.client.waitForTerminal(taskId)));
    assert.deepEqual(
      ends.filter(({ status }) => status !== 'success').map(({ taskId, error }) => ({ taskId, error })),
      [],
    );
    const counts = new Map<string, number>();
    for (const taskId of allTasks()) {
      await world.darkroom.temporal.workflow.getHandle(taskId).result();
      const { builds, activityBuilds, failedWorkflowTasks } = await readReleases(world.darkroom.temporal, taskId);
      assert.equal(builds.length, 1, `${taskId} ran on ${JSON.stringify(builds)}`);
      assert.equal(failedWorkflowTasks, 0, taskId);
      assert.deepEqual(
        activityBuilds.filter((build) => build !== undefined && build !== builds[0]),
        [],
      );
      const build = builds[0] ?? 'none';
      counts.set(build, (counts.get(build) ?? 0) + 1);
    }
    t.diagnostic(`tasks by release: ${JSON.stringify(Object.fromEntries(counts))}`);
    const submits = (await world.providerLog(MARKER)).filter(({ kind }) => kind === 'submit');
    assert.equal(submits.length, allTasks().length, 'none was submitted twice');
    await world.assertSettled(account);
  });
});
