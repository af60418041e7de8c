/** The launcher where Temporal fails while the machine's clock is set. */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { createPinnedDefinitions } from '../../src/catalogue/pinned-definitions.ts';
import { startLauncher } from '../../src/processes/launcher.ts';
import type { OutboxItem } from '../../src/tasks/outbox.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { NO_TRACES } from '../../src/telemetry/tracing.ts';
import type { WorkflowGateway } from '../../src/temporal/workflow-gateway.ts';
import { until } from '../support/until.ts';
import { openTaskRoom } from './task-room.ts';
import type { TaskRoom } from './task-room.ts';

const HOUR_MS = 3_600_000;

let room: TaskRoom;
before(async () => {
  room = await openTaskRoom();
});
after(() => room.close());

it('rests for a moment after a failure, and no longer where the clock is set back meanwhile', async (t) => {
  const away = { startStop: () => Promise.reject(new Error('Temporal is away')) } as unknown as WorkflowGateway;
  const { database } = room;
  const definitions = createPinnedDefinitions(database);
  const clock = t.mock.method(Date, 'now', () => performance.timeOrigin + performance.now() + HOUR_MS);
  const launcher = startLauncher({ database, gateway: away, definitions, tracing: NO_TRACES, logger: silentLogger() });
  try {
    launcher.wake({
      id: 1n,
      kind: 'stop_generation',
      subjectId: 'tk-svc-x',
      accountId: 'acc',
    } as unknown as OutboxItem);
    await until('the failure is noticed', () => !launcher.hasRoom(), 1);

    clock.mock.restore();

    await until('it goes on', () => launcher.hasRoom());
    assert.ok(launcher.hasRoom());
  } finally {
    await launcher.close();
  }
});
