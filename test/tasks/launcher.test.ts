/** The launcher when Temporal fails while the machine's clock is set. */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { createPinnedDefinitions } from '../../src/catalogue/pinned-definitions.ts';
import { startLauncher } from '../../src/processes/launcher.ts';
import type { OutboxItem } from '../../src/tasks/outbox/outbox.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { NO_TRACES } from '../../src/telemetry/tracing.ts';
import type { WorkflowGateway } from '../../src/temporal/workflow-gateway.ts';
import { until } from '@darkroom/testing/until';
import { openTaskRoom } from './task-room.ts';
import type { TaskRoom } from './task-room.ts';

const HOUR_MS = 3_600_000;

let room: TaskRoom;
before(async () => {
  room = await openTaskRoom();
});
after(() => room.close());

it('counts what Temporal refuses, which stays so, apart from what fails', async () => {
  const answers = [new Error('away'), Object.assign(new Error('no such attribute'), { code: 3 })];
  const gateway = { startStop: () => Promise.reject(answers.shift()) } as unknown as WorkflowGateway;
  const { database } = room;
  const metrics = createMetrics();
  const dependencies = { definitions: createPinnedDefinitions(database), tracing: NO_TRACES, logger: silentLogger() };
  const launcher = startLauncher({ database, gateway, ...dependencies, outboxMetrics: metrics.outbox });
  const item = { id: 2n, kind: 'stop_generation', subjectId: 'tk-svc-y', accountId: 'acc' } as unknown as OutboxItem;
  const refused = async (): Promise<number | undefined> => {
    const { values } = await metrics.registry.getSingleMetric('darkroom_outbox_refused_total')!.get();
    return values.find(({ labels }) => labels['kind'] === item.kind)?.value;
  };
  try {
    launcher.wake(item);
    await until('the failure is noticed', () => answers.length === 1);
    assert.equal(await refused(), 0);

    launcher.wake(item);

    await until('the refusal is counted', async () => (await refused()) === 1);
  } finally {
    await launcher.close();
  }
});

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
