/** The launcher when Temporal rejects a row, or fails while the machine's clock is set. */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { pino } from 'pino';
import { waitFor } from '@darkroom/testing/wait-for';
import { createPinnedDefinitions } from '../../src/catalogue/pinned-definitions.ts';
import { newTaskId } from '../../src/domain/ids.ts';
import { startLauncher } from '../../src/processes/launcher.ts';
import type { OutboxItem } from '../../src/tasks/outbox/outbox.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import type { Database } from '../../src/database/database.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { NO_TRACES } from '../../src/telemetry/tracing.ts';
import { openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';
import { scriptedGateway } from './scripted-gateway.ts';

const HOUR_MS = 3_600_000;
const TASK_ID = newTaskId();

/** A row of the outbox that asks a provider to stop. */
function stopOf(id: bigint): OutboxItem {
  return { id, kind: 'stop_generation', subjectId: TASK_ID, accountId: 'acc', deliveries: 0 };
}

let room: TaskRoom;
before(async () => {
  room = await openTaskRoom();
});
after(() => room.close());

it('counts what Temporal rejects permanently apart from what fails', async () => {
  const answers = [new Error('away'), Object.assign(new Error('no such attribute'), { code: 3 })];
  const gateway = scriptedGateway({ startStop: () => Promise.reject(answers.shift()) });
  const { database } = room;
  const metrics = createMetrics();
  const dependencies = { definitions: createPinnedDefinitions(database), tracing: NO_TRACES, logger: silentLogger() };
  const launcher = startLauncher({ database, gateway, ...dependencies, outboxMetrics: metrics.outbox });
  const item = stopOf(2n);
  const rejectedCount = async (): Promise<number | undefined> => {
    const { values } = await metrics.registry.getSingleMetric('darkroom_outbox_refused_total')!.get();
    return values.find(({ labels }) => labels['kind'] === item.kind)?.value;
  };
  try {
    launcher.wake(item);
    await waitFor('the failure is noticed', () => answers.length === 1);
    assert.equal(await rejectedCount(), 0);

    launcher.wake(item);

    await waitFor('the rejection is counted', async () => (await rejectedCount()) === 1);
  } finally {
    await launcher.close();
  }
});

it('pauses briefly after a failure, and no longer when the clock is set back meanwhile', async (t) => {
  const away = scriptedGateway({ startStop: () => Promise.reject(new Error('Temporal is away')) });
  const { database } = room;
  const definitions = createPinnedDefinitions(database);
  const clock = t.mock.method(Date, 'now', () => performance.timeOrigin + performance.now() + HOUR_MS);
  const launcher = startLauncher({ database, gateway: away, definitions, tracing: NO_TRACES, logger: silentLogger() });
  try {
    launcher.wake(stopOf(1n));
    await waitFor('the failure is noticed', () => !launcher.hasRoom(), 1);

    clock.mock.restore();

    await waitFor('it goes on', () => launcher.hasRoom());
    assert.ok(launcher.hasRoom());
  } finally {
    await launcher.close();
  }
});

it('reports once that delivered rows cannot be removed, however many are delivered meanwhile', async () => {
  const logged: unknown[] = [];
  const logger = pino({ level: 'warn' }, { write: (line: string) => void logged.push(JSON.parse(line)) });
  const database: Database = {
    ...room.database,
    query: (statement, ...values) =>
      statement.name === 'remove_outbox'
        ? Promise.reject(new Error('the database is away'))
        : room.database.query(statement, ...values),
  };
  let deliveries = 0;
  const gateway = scriptedGateway({ startStop: async () => void deliveries++ });
  const definitions = createPinnedDefinitions(room.database);
  const launcher = startLauncher({ database, gateway, definitions, tracing: NO_TRACES, logger });
  try {
    launcher.wake(stopOf(3n));
    await waitFor('the failure is reported', () => logged.length > 0);
    for (let id = 4n; id <= 20n; id++) {
      launcher.wake(stopOf(id));
      await waitFor('it is delivered', () => deliveries === Number(id) - 2);
    }
  } finally {
    await launcher.close();
  }

  assert.equal(logged.length, 1, JSON.stringify(logged));
});
