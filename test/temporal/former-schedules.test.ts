/**
 * `migrate` after an upgrade, also without all permissions for schedules: the printed commands, run by an authorized
 * user, do all that is missing, and what an operator had paused is paused afterwards. Only once: then the names are a
 * neighbour's.
 */
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { Client, ScheduleNotFoundError } from '@temporalio/client';
import type { ScheduleClient, ScheduleOptions } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { runMigrate } from '../../src/commands/migrate.ts';
import { readInstallationId } from '../../src/database/migrate.ts';
import { ensureSchedules, scheduleIds } from '../../src/temporal/schedules.ts';
import { startForbiddingProxy } from '../support/forbidding-proxy.ts';
import type { ForbiddingProxy } from '../support/forbidding-proxy.ts';
import { printedSteps, runStep } from '../support/manual-steps.ts';
import { programEnvironment } from '../support/pooled-run.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { createTestNamespace, temporalAddress } from '../support/test-namespace.ts';
import { waitFor } from '@darkroom/testing/wait-for';

const MADE_BEFORE = {
  name: 'test_made_before',
  text: 'UPDATE installation SET had_shared_names = true, former_schedules_retired_at = NULL',
};
const NOTE = "the ledger is closed: it's the auditors' week";
const FORMER = 'darkroom-meter-storage';

describe('migrate after an upgrade', () => {
  let database: TestDatabase;
  let proxy: ForbiddingProxy;
  let installationId: string;
  let successor: string;
  let namespace: string;
  before(async () => {
    database = await createTestDatabase();
    installationId = await readInstallationId(database.database);
    successor = `${installationId}-meter-storage`;
    proxy = await startForbiddingProxy(temporalAddress());
  });
  beforeEach(async () => {
    const made = await createTestNamespace();
    namespace = made.name;
    await made.close();
    await database.database.query(MADE_BEFORE);
  });
  afterEach(async () => {
    proxy.forbid();
    await atServer(({ schedule }) =>
      Promise.all(scheduleIds(installationId).map((id) => schedule.getHandle(id).delete())),
    );
  });
  after(async () => {
    proxy.close();
    await database.close();
  });

  const migrate = (): Promise<void> =>
    runMigrate({
      ...programEnvironment(database.url),
      TEMPORAL_ADDRESS: proxy.address,
      TEMPORAL_NAMESPACE: namespace,
      LOG_LEVEL: 'silent',
    });

  /**
   * As a user with all permissions. `migrate` needs the connection to be closed again: it installs the SDK's runtime.
   */
  async function atServer<T>(work: (client: Client) => Promise<T>): Promise<T> {
    const connection = await NativeConnection.connect({ address: temporalAddress() });
    try {
      return await work(new Client({ connection, namespace }));
    } finally {
      await connection.close();
    }
  }

  async function runAll(commands: Iterable<string>): Promise<void> {
    for (const command of commands) await runStep(command.replace(proxy.address, temporalAddress()));
  }

  const made = (scheduleId: string, state: ScheduleOptions['state'] = {}) => ({
    scheduleId,
    spec: { intervals: [{ every: '60 minutes' }] },
    action: { type: 'startWorkflow' as const, workflowType: 'reconcile', taskQueue: 'media', args: [] },
    state,
  });

  const stateOf = async (schedule: ScheduleClient, id: string) => {
    const { state } = await schedule.getHandle(id).describe();
    return [state.paused, state.note];
  };

  it('prints the deletion of a paused one whose successor it may not create, and creates that one paused', async () => {
    await atServer(async ({ schedule }) => {
      await schedule.create(made('darkroom-reconcile'));
      await schedule.create(made(FORMER, { paused: true, note: NOTE }));
    });
    proxy.forbid('CreateSchedule', 'DeleteSchedule');

    const steps = await printedSteps(migrate());

    const ofFormer = (id: string) => `the end of the schedule ${id}, which was made by an earlier release`;
    assert.deepEqual(
      [...steps.keys()],
      [
        ...scheduleIds(installationId).map((id) => `the schedule ${id}`),
        ofFormer('darkroom-reconcile'),
        ofFormer(FORMER),
      ],
    );
    await runAll(steps.values());
    await migrate();
    await atServer(async ({ schedule }) => {
      assert.deepEqual(await stateOf(schedule, successor), [true, NOTE]);
      await assert.rejects(schedule.getHandle(FORMER).describe(), ScheduleNotFoundError);
    });
  });

  it('leaves a paused one unchanged until its successor exists, though it may delete it', async () => {
    await atServer(({ schedule }) => schedule.create(made(FORMER, { paused: true, note: NOTE })));
    proxy.forbid('CreateSchedule');

    const commands = [...(await printedSteps(migrate())).values()];
    await runAll(commands.filter((command) => command.includes('schedule create')));
    await migrate();

    await atServer(async ({ schedule }) => {
      assert.deepEqual(await stateOf(schedule, successor), [true, NOTE]);
      await assert.rejects(schedule.getHandle(FORMER).describe(), ScheduleNotFoundError);
    });
  });

  it('prints the pause of a successor that it may not pause, before the deletion of the former one', async () => {
    await atServer(async (client) => {
      await client.schedule.create(made(FORMER, { paused: true, note: NOTE }));
      await ensureSchedules(client, installationId);
    });
    proxy.forbid('PatchSchedule');

    const steps = await printedSteps(migrate());

    assert.deepEqual(
      [...steps.keys()].map((what) => what.split(',')[0]),
      [`the pause of the schedule ${successor}`, `the end of the schedule ${FORMER}`],
    );
    await runAll(steps.values());
    await migrate();
    await atServer(async ({ schedule }) => assert.deepEqual(await stateOf(schedule, successor), [true, NOTE]));
  });

  it('prints an update that leaves a paused one paused', async () => {
    await atServer(({ schedule }) => schedule.create(made(successor, { paused: true, note: NOTE })));
    proxy.forbid('UpdateSchedule');

    await runAll((await printedSteps(migrate())).values());

    await migrate();
    await atServer(async ({ schedule }) => assert.deepEqual(await stateOf(schedule, successor), [true, NOTE]));
  });

  it('leaves those unchanged that another installation of an earlier release has created again, and their passes', async () => {
    await atServer(({ schedule }) => schedule.create(made('darkroom-reconcile')));
    await migrate();
    let pass = '';
    await atServer(async ({ schedule }) => {
      await assert.rejects(schedule.getHandle('darkroom-reconcile').describe(), ScheduleNotFoundError);
      await schedule.create(made('darkroom-reconcile', { paused: true, note: 'by the neighbour' }));
      await schedule.create(made(FORMER));
      const ofNeighbour = schedule.getHandle(FORMER);
      await ofNeighbour.trigger();
      await waitFor('a pass has begun', async () => {
        const { recentActions } = (await ofNeighbour.describe()).info;
        pass = recentActions.at(-1)?.action.workflow.workflowId ?? '';
        return pass !== '';
      });
    });

    await migrate();

    await atServer(async ({ schedule, workflow }) => {
      assert.deepEqual(await stateOf(schedule, 'darkroom-reconcile'), [true, 'by the neighbour']);
      assert.equal((await stateOf(schedule, FORMER))[0], false);
      assert.equal((await workflow.getHandle(pass).describe()).status.name, 'RUNNING');
      assert.equal((await stateOf(schedule, `${installationId}-maintain`))[0], false);
    });
  });
});
