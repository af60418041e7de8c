/**
 * The launcher: how much of Temporal's throughput it uses, counted in round trips of a gateway that the test answers,
 * with polls switched off, so that it starts everything here without being woken again; and what it does when Temporal
 * rejects a row, or fails while the machine's clock is set.
 */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { TestContext } from 'node:test';
import { pino } from 'pino';
import { waitFor } from '@darkroom/testing/wait-for';
import { createPinnedDefinitions } from '../../src/catalogue/pinned-definitions.ts';
import { newTaskId } from '../../src/domain/ids.ts';
import { MAX_IN_FLIGHT, startLauncher } from '../../src/processes/launcher.ts';
import type { Launcher, LauncherDependencies } from '../../src/processes/launcher.ts';
import { claimOutbox } from '../../src/tasks/outbox/outbox.ts';
import type { OutboxItem } from '../../src/tasks/outbox/outbox.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { NO_TRACES } from '../../src/telemetry/tracing.ts';
import { openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';
import { HeldGateway, watchDatabase } from './held-gateway.ts';
import type { WatchedDatabase } from './held-gateway.ts';
import { scriptedGateway } from './scripted-gateway.ts';

const HOUR_MS = 3_600_000;

let room: TaskRoom;
before(async () => {
  room = await openTaskRoom();
  await createPinnedDefinitions(room.database).pin(room.catalogue.models);
});
after(() => room.close());
beforeEach(async () => {
  await room.rows('UPDATE account_counters SET is_suspended = true');
  await room.rows('DELETE FROM outbox');
});

let accepted = 0;

/** Queued tasks of one account, written as accepting writes them. */
async function accept(count: number, runningCap = 100_000): Promise<void> {
  const { accountId, keyId } = await room.newCaller({ runningCap, queueCap: 100_000 });
  const { hash } = room.catalogue.resolve('acme/images', undefined);
  await room.rows(
    `WITH wanted AS (
       SELECT 'tk-svc-' || lpad(n::text, 26, '0') AS id FROM generate_series($1::integer, $2::integer) n),
     task AS (
       INSERT INTO tasks (id, account_id, key_id, fingerprint, fingerprint_version, model, definition_hash, input,
                          storage, queue_deadline_at, held_micro_usd)
       SELECT id, $3, $4, '', 1, 'acme/images', $5, '{}', 'temp', now() + interval '1 day', 0 FROM wanted),
     counted AS (
       UPDATE account_counters SET queued = queued + $2::integer - $1::integer + 1 WHERE account_id = $3)
     INSERT INTO outbox (kind, account_id, subject_id, is_ready) SELECT 'start_task', $3, id, false FROM wanted`,
    accepted + 1,
    accepted + count,
    accountId,
    keyId,
    hash,
  );
  accepted += count;
}

interface Scene {
  readonly temporal: HeldGateway;
  readonly watched: WatchedDatabase;
  readonly launcher: Launcher;
  /** Advances the launcher's clock past the pause after a failure, and lets it poll once. */
  pollAfterPause(): Promise<void>;
}

/** A launcher over the room, unless something else is given. */
function start(changes: Pick<LauncherDependencies, 'gateway'> & Partial<LauncherDependencies>): Launcher {
  const { database = room.database } = changes;
  const definitions = createPinnedDefinitions(database);
  return startLauncher({ database, definitions, tracing: NO_TRACES, logger: silentLogger(), ...changes });
}

/** A launcher that polls only when the test triggers it, over everything that was accepted. */
function launch(t: TestContext, rows: number): Scene {
  t.mock.timers.enable({ apis: ['setInterval'] });
  let aheadMs = 0;
  const now = performance.now.bind(performance);
  t.mock.method(performance, 'now', () => now() + aheadMs);
  const temporal = new HeldGateway();
  const watched = watchDatabase(room.database, rows);
  const launcher = start({ database: watched.database, gateway: temporal.gateway });
  t.after(async () => {
    temporal.answersAtOnce = true;
    temporal.answer();
    await launcher.close();
  });
  return {
    temporal,
    watched,
    launcher,
    async pollAfterPause() {
      aheadMs += 1_500;
      t.mock.timers.tick(200);
      await watched.quiet();
    },
  };
}

describe('a launcher with a backlog', () => {
  it('needs at most a quarter more round trips than a full window each time would take', async (t) => {
    const tasks = 1_000;
    await accept(tasks);
    const { temporal, watched, launcher } = launch(t, tasks);
    let rounds = 0;

    launcher.wake();
    for (await watched.quiet(); temporal.inFlight > 0; await watched.quiet()) {
      temporal.answer();
      rounds += 1;
    }

    assert.equal(temporal.started.size, tasks);
    assert.ok(rounds <= Math.ceil(tasks / MAX_IN_FLIGHT / 0.8), `${rounds} round trips`);
  });

  it('has a full window again whenever one start was acknowledged, and does not take a claim of one for the whole backlog', async (t) => {
    await accept(400);
    const { temporal, watched, launcher } = launch(t, 400);
    launcher.wake();
    await watched.quiet();

    for (let answered = 0; answered < 300; answered++) {
      assert.equal(temporal.inFlight, MAX_IN_FLIGHT, `after ${answered} answers`);
      temporal.answer(1);
      await watched.quiet();
    }
  });

  it('continues when it is woken while it is full', async (t) => {
    await accept(MAX_IN_FLIGHT);
    const { temporal, watched, launcher } = launch(t, MAX_IN_FLIGHT);
    launcher.wake();
    await watched.quiet();
    assert.equal(temporal.inFlight, MAX_IN_FLIGHT);

    await accept(1_000);
    launcher.wake();
    await watched.quiet();
    assert.equal(temporal.inFlight, MAX_IN_FLIGHT);
    for (; temporal.inFlight > 0; await watched.quiet()) temporal.answer();

    assert.equal(temporal.started.size, MAX_IN_FLIGHT + 1_000);
  });

  it('releases what it claimed and did not begin when it closes', async (t) => {
    await accept(120);
    const { temporal, watched, launcher } = launch(t, 120);
    launcher.wake();
    await watched.quiet();
    assert.equal(watched.claimed(), 120);
    temporal.answersAtOnce = true;

    const closed = launcher.close();
    await watched.quiet();
    temporal.answer();
    await closed;

    assert.equal(temporal.started.size, MAX_IN_FLIGHT);
    assert.equal((await claimOutbox(room.database, 1_000)).length, 120 - MAX_IN_FLIGHT);
  });
});

describe('a launcher whose Temporal was unavailable', () => {
  it('starts what was claimed before at the next poll, and not after its lease, when there is nothing else', async (t) => {
    await accept(3, 3);
    const { temporal, watched, launcher, pollAfterPause } = launch(t, 3);
    temporal.isAway = true;
    launcher.wake();
    await watched.quiet();
    for (let time = 0; time < 5; time++) await pollAfterPause();

    temporal.isAway = false;
    temporal.answersAtOnce = true;
    await pollAfterPause();

    assert.equal(temporal.started.size, 3);
  });

  it('starts 20,000 tasks in one poll after recovery, and makes no empty claims meanwhile', async (t) => {
    const tasks = 20_000;
    for (let account = 0; account < 4; account++) await accept(4_990);
    // Without free slots beyond those that were claimed during the outage.
    for (let account = 0; account < 4; account++) await accept(10, 10);
    const { temporal, watched, launcher, pollAfterPause } = launch(t, tasks);
    temporal.isAway = true;
    launcher.wake();
    await watched.quiet();
    const askedAtFirst = temporal.asked.length;
    assert.ok(askedAtFirst > 0 && askedAtFirst <= 2 * MAX_IN_FLIGHT, String(askedAtFirst));
    for (let time = 0; time < 10; time++) await pollAfterPause();
    // At most one that failed, one admission and one due row at each poll.
    assert.ok(temporal.asked.length <= askedAtFirst + 30, String(temporal.asked.length - askedAtFirst));

    temporal.isAway = false;
    temporal.answersAtOnce = true;
    await pollAfterPause();

    assert.equal(temporal.started.size, tasks);
    assert.deepEqual(
      watched.emptyClaims.filter((left) => left > 0),
      [],
    );
  });

  it('is not paused by a row that is rejected before any other is acknowledged', async (t) => {
    await accept(200);
    const { temporal, watched, launcher } = launch(t, 200);
    temporal.rejected.add(`tk-svc-${String(accepted - 199).padStart(26, '0')}`);

    launcher.wake();
    await watched.quiet();
    // Whether Temporal is there is open until another is answered: nothing else begins.
    assert.equal(temporal.inFlight, MAX_IN_FLIGHT - 1);
    for (; temporal.inFlight > 0; await watched.quiet()) temporal.answer();

    assert.equal(temporal.started.size, 199);
    assert.equal(temporal.asked.length, 200);
  });

  it('leaves rows that fail by themselves to their leases, without delaying others', async (t) => {
    await accept(2_000);
    const { temporal, watched, launcher, pollAfterPause } = launch(t, 2_000);
    for (let index = 0; index < 100; index++) {
      temporal.rejected.add(`tk-svc-${String(accepted - 20 * index).padStart(26, '0')}`);
    }
    temporal.answersAtOnce = true;

    launcher.wake();
    await watched.quiet();
    for (let time = 0; time < 10; time++) await pollAfterPause();

    assert.equal(temporal.started.size, 1_900);
    // Each once more after Temporal was considered unavailable, and one of them at each poll that had nothing else to
    // do.
    assert.ok(temporal.asked.length <= 1_900 + 2 * 100 + 10, String(temporal.asked.length));
  });
});

describe('a launcher of rows that ask a provider to stop', () => {
  const TASK_ID = newTaskId();

  function stopOf(id: bigint): OutboxItem {
    return { id, kind: 'stop_generation', subjectId: TASK_ID, accountId: 'acc', deliveries: 0 };
  }

  it('counts what Temporal rejects permanently apart from what fails', async () => {
    const answers = [new Error('away'), Object.assign(new Error('no such attribute'), { code: 3 })];
    const gateway = scriptedGateway({ startStop: () => Promise.reject(answers.shift()) });
    const metrics = createMetrics();
    const launcher = start({ gateway, outboxMetrics: metrics.outbox });
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
    const clock = t.mock.method(Date, 'now', () => performance.timeOrigin + performance.now() + HOUR_MS);
    const launcher = start({ gateway: away });
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
    const database: LauncherDependencies['database'] = {
      ...room.database,
      query: (statement, ...values) =>
        statement.name === 'remove_outbox'
          ? Promise.reject(new Error('the database is away'))
          : room.database.query(statement, ...values),
    };
    let deliveries = 0;
    const gateway = scriptedGateway({ startStop: async () => void deliveries++ });
    const launcher = start({ database, gateway, logger });
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
});
