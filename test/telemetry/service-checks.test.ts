/** What is read for a scrape, on a real database with a long history: the values, and the cost. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { readOpenBatches } from '../../src/batches/batch-record.ts';
import type { Database, Queryable, Statement } from '../../src/database/database.ts';
import type { ObjectStore } from '../../src/objects/stores/object-store.ts';
import { TASK_QUEUES } from '../../src/domain/workflow-ids.ts';
import { createServiceChecks, readSharedQueueBacklogs } from '../../src/processes/service-checks.ts';
import type { TemporalChecks } from '../../src/processes/service-checks.ts';
import type { QueueBacklogs } from '../../src/telemetry/metrics-service.ts';
import {
  readCallbackBacklog,
  readOpenTasks,
  readOutboxBacklog,
  createUnclaimedStarts,
} from '../../src/tasks/outbox/backlog.ts';
import { outboxWaitSeconds } from '../../src/tasks/outbox/outbox.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { readOpenCalls } from '../../src/text/background/call-record.ts';
import { readOpenTextHolds } from '../../src/text/money/list-calls.ts';
import { listStates } from '../../src/upstreams/states.ts';
import { unreachableDatabase } from '../http/serve.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';

const HISTORY = 200_000;
/** Of what is deleted some time after its end. */
const ENDED = 20_000;

/** Rows as they are after a while: nearly all of them finished. */
const FILL = [
  `INSERT INTO tasks (id, account_id, key_id, fingerprint, fingerprint_version, model, definition_hash, storage, status,
                      held_micro_usd, captured_micro_usd, created_at, queue_deadline_at, started_at, completed_at, updated_at)
   SELECT 'old-' || n, 'acct', 'key', '\\x00', 1, 'acme/images', 'hash', 'temp', 'success', 10, 10,
          now() - interval '30 days' + n * interval '10 seconds', now(), now(), now(), now()
     FROM generate_series(1, ${HISTORY}) n`,
  `INSERT INTO tasks (id, account_id, key_id, fingerprint, fingerprint_version, model, definition_hash, storage, status,
                      held_micro_usd, created_at, queue_deadline_at, started_at, updated_at)
   SELECT 'open-' || n, 'acct', 'key', '\\x00', 1, 'acme/images', 'hash', 'temp',
          (ARRAY['queued', 'handling', 'archiving'])[1 + n % 3], 1000, now() - n * interval '1 second', now(),
          now() - interval '7 seconds', now() - interval '3 seconds'
     FROM generate_series(1, 900) n`,
  `INSERT INTO text_calls (id, account_id, key_id, model, process_id, created_at, settled_at, held_micro_usd,
                           floor_micro_usd, captured_micro_usd, input_tokens, is_stored)
   SELECT 'old-' || n, 'acct', 'key', 'acme/text', gen_random_uuid(), now(), now(), 5, 0, 1, 1, false
     FROM generate_series(1, ${HISTORY}) n`,
  `INSERT INTO text_calls (id, account_id, key_id, model, process_id, created_at, held_micro_usd, floor_micro_usd,
                           input_tokens, is_stored)
   SELECT 'open-' || n, 'acct', 'key', 'acme/text', gen_random_uuid(), now() - interval '40 seconds', 5, 0, 1, false
     FROM generate_series(1, 30) n`,
  `INSERT INTO callbacks (task_id, account_id, url, state, attempts)
   SELECT 'old-' || n, 'acct', 'https://example.com', 'delivered', 1 FROM generate_series(1, ${HISTORY}) n`,
  `INSERT INTO callback_attempts (task_id, attempt, started_at, finished_at, http_status)
   SELECT 'old-' || n, 1, now(), now(), 204 FROM generate_series(1, ${HISTORY}) n`,
  `INSERT INTO callbacks (task_id, account_id, url, state, attempts, next_attempt_at)
   VALUES ('open-1', 'acct', 'https://example.com', 'pending', 1, now() + interval '60 seconds'),
          ('open-2', 'acct', 'https://example.com', 'pending', 1, now() - interval '20 seconds'),
          ('open-3', 'acct', 'https://example.com', 'pending', 1, NULL)`,
  `INSERT INTO callback_attempts (task_id, attempt, started_at) VALUES ('open-3', 1, now() - interval '50 seconds')`,
  `INSERT INTO outbox (kind, account_id, subject_id, is_ready, due_at, deliveries)
   VALUES ('start_task', 'acct', 'open-1', true, now() - interval '2 seconds', 0),
          ('start_task', 'acct', 'open-2', true, now() + interval '10 seconds', 3),
          ('start_task', 'acct', 'open-4', false, now() - interval '1 hour', 0),
          ('deliver_callback', 'acct', 'open-2', true, now() - interval '4 seconds', 0)`,
  `INSERT INTO upstream_states (upstream, slots_taken, paused_until, failures, open_until)
   VALUES ('busy', 3, now() + interval '1 hour', 0, NULL), ('broken', 0, NULL, 9, now() + interval '1 hour'),
          ('tried by nothing since', 0, NULL, 9, now() - interval '1 second')`,
  `INSERT INTO upstream_waits (upstream, account_id, since, task_id, cap)
   SELECT 'busy', 'acct', now(), 'open-' || n, 3 FROM generate_series(1, 2) n`,
  `INSERT INTO background_calls (id, account_id, key_id, surface, state, created_at, ended_at)
   SELECT 'old-' || n, 'acct', 'key', 'responses', 'answered', now() - interval '2 days', now()
     FROM generate_series(1, ${ENDED}) n`,
  `INSERT INTO background_calls (id, account_id, key_id, surface, state, created_at, request)
   SELECT 'open-' || n, 'acct', 'key', 'responses', (ARRAY['queued', 'in_progress'])[1 + n % 2],
          now() - n * interval '1 second', '{}'
     FROM generate_series(1, 50) n`,
  `INSERT INTO background_calls (id, account_id, key_id, surface, batch_id, line, line_begin)
   SELECT 'line-' || n, 'acct', 'key', 'chat', 'batch', n, 0 FROM generate_series(1, 3) n`,
  `INSERT INTO batches (id, account_id, key_id, endpoint, completion_window, input_file_id, input_object_key, input_bytes,
                        output_kept_seconds, created_at, expires_at, status, ended_at)
   SELECT 'batch-' || n, 'acct', 'key', '/v1/tasks', '24h', 'file', 'key', 1, 60, now() - interval '30 seconds', now(),
          (ARRAY['completed', 'in_progress', 'cancelling'])[least(n, 3)], CASE WHEN n = 1 THEN now() END
     FROM generate_series(1, 4) n`,
  `INSERT INTO batches (id, account_id, key_id, endpoint, completion_window, input_file_id, input_object_key, input_bytes,
                        output_kept_seconds, created_at, expires_at, status, ended_at)
   SELECT 'old-' || n, 'acct', 'key', '/v1/tasks', '24h', 'file', 'key', 1, 60, now() - interval '9 days', now(),
          'completed', now()
     FROM generate_series(1, ${ENDED}) n`,
  'ANALYZE',
];

const IN_QUEUES = Object.fromEntries(
  Object.keys(TASK_QUEUES).map((queue, index) => [queue, { count: index, oldestSeconds: index * 10 }]),
) as QueueBacklogs;
const fineTemporal: TemporalChecks = {
  check: () => Promise.resolve(),
  queueBacklogs: () => Promise.resolve(IN_QUEUES),
};
const fine = {
  store: { check: () => Promise.resolve() } as unknown as ObjectStore,
  storeClaim: { isConfirmed: () => true },
};

/** At least this value, and not far above: some time passes between filling and reading. */
function assertAbout(seconds: number | undefined, least: number): void {
  assert.ok(seconds !== undefined && seconds >= least && seconds < least + 600, `${seconds} is not about ${least}`);
}

describe('the values that are read at a scrape', () => {
  let testDatabase: TestDatabase;
  let database: Database;
  before(async () => {
    testDatabase = await createTestDatabase();
    ({ database } = testDatabase);
    // Not through the pool, whose statements have a time limit: a busy machine writes for longer.
    const client = new pg.Client({ connectionString: testDatabase.url });
    await client.connect();
    for (const text of FILL) await client.query(text);
    await client.end();
  });
  after(() => testDatabase.close());

  it('include backlog, its age, and holds', async () => {
    const checks = createServiceChecks({ database, ...fine, logger: silentLogger() }, fineTemporal);

    const { stored, queues, ...up } = await checks.state();
    assert.deepEqual(queues, IN_QUEUES);

    assert.deepEqual(up, { isDatabaseUp: true, isStoreUp: true, isTemporalUp: true });
    assert.ok(stored);
    assert.equal(stored.tasks.queued.count, 300);
    assertAbout(stored.tasks.queued.oldestSeconds, 900);
    assertAbout(stored.tasks.handling.oldestSeconds, 7);
    assertAbout(stored.tasks.archiving.oldestSeconds, 3);
    assert.deepEqual([stored.holds.task.count, stored.holds.task.microUsd], [900, 900_000]);
    assertAbout(stored.holds.task.oldestSeconds, 900);
    assert.deepEqual([stored.holds.text.count, stored.holds.text.microUsd], [30, 150]);
    assertAbout(stored.holds.text.oldestSeconds, 40);
    assert.equal(stored.outbox.get('start_task')?.count, 2);
    // Claimed three times, its last lease of 60 s has 10 s to go: the two before were 15 and 30 s.
    assertAbout(stored.outbox.get('start_task')?.oldestSeconds, 15 + 30 + 60 - 10);
    assertAbout(stored.outbox.get('deliver_callback')?.oldestSeconds, 4);
    const { response, batch_line: line } = stored.backgroundCalls;
    assert.deepEqual([response.queued.count, response.in_progress.count], [25, 25]);
    assertAbout(response.queued.oldestSeconds, 50);
    assertAbout(response.in_progress.oldestSeconds, 49);
    assert.deepEqual([line.queued.count, line.in_progress], [3, { count: 0, oldestSeconds: 0 }]);
    const { in_progress: feeding, cancelling, ...others } = stored.batches;
    assert.deepEqual([feeding.count, cancelling.count], [1, 2]);
    assertAbout(feeding.oldestSeconds, 30);
    const none = { count: 0, oldestSeconds: 0 };
    assert.deepEqual(others, { validating: none, finalizing: none });
    assert.equal(stored.callbacks.count, 3);
    assertAbout(stored.callbacks.oldestSeconds, 50);
    const open = { isPaused: false, isFailing: false, isDrained: false, pauseReason: null, credentialProblem: null };
    const idle = { ...open, slotsTaken: 0, waiting: 0 };
    assert.deepEqual(stored.upstreams, [
      { ...idle, upstream: 'broken', isFailing: true },
      { ...idle, upstream: 'busy', isPaused: true, slotsTaken: 3, waiting: 2 },
      { ...idle, upstream: 'tried by nothing since' },
    ]);
  });

  it('are read by index from open rows, whatever the history', async () => {
    const asked: Statement[] = [];
    const noting: Queryable = {
      query(statement, values) {
        asked.push(statement);
        return database.query(statement, values);
      },
    };
    const ofTasks = [readOpenTasks, readOutboxBacklog, readCallbackBacklog];
    for (const read of [...ofTasks, readOpenTextHolds, readOpenCalls, readOpenBatches, listStates]) await read(noting);
    await createUnclaimedStarts().read(noting);
    assert.equal(asked.length, 8);

    for (const { name, text } of asked) {
      const plan = await database.query<{ 'QUERY PLAN': string }>({ name: `explain_${name}`, text: `EXPLAIN ${text}` });
      const lines = plan.map((row) => row['QUERY PLAN']).join('\n');
      assert.doesNotMatch(
        lines,
        /Seq Scan on (?:tasks|text_calls|callbacks|callback_attempts|background_calls|batches)\b/,
        `${name}\n${lines}`,
      );
    }
  });

  it('are queried once for all scrapes within 5 s', async () => {
    let transactions = 0;
    const counting: Database = {
      ...database,
      transaction(work) {
        transactions += 1;
        return database.transaction(work);
      },
    };
    const logger = silentLogger();
    const checks = createServiceChecks({ database: counting, ...fine, logger }, fineTemporal);

    await Promise.all(Array.from({ length: 20 }, () => checks.state()));
    await checks.state();

    assert.equal(transactions, 1);
  });

  it('are counted by one process for all: the others read what it counted', async () => {
    const { database: own, url, close } = await createTestDatabase();
    const counted: number[] = [];
    const scrape = async (process: number): Promise<number | undefined> => {
      const noting: Database = {
        ...own,
        transaction: (work) =>
          own.transaction((transaction) =>
            work({
              query(statement, values) {
                if (statement.name === 'select_open_tasks_by_status') counted.push(process);
                return transaction.query(statement, values);
              },
            }),
          ),
      };
      const checks = createServiceChecks({ database: noting, ...fine, logger: silentLogger() }, fineTemporal);
      return (await checks.state()).stored?.tasks.queued.count;
    };
    const age = (interval: string) =>
      own.query({ name: 'age', text: 'UPDATE counted_backlog SET counted_at = now() + $1::interval' }, [interval]);

    assert.equal(await scrape(0), 0);
    assert.deepEqual(await Promise.all([scrape(1), scrape(2)]), [0, 0]);
    assert.deepEqual(counted.splice(0), [0]);
    // Counted a while ago, or before the clock was set back.
    for (const interval of ['-5 seconds', '1 hour']) {
      await age(interval);
      await scrape(3);
      await scrape(4);
      assert.deepEqual(counted.splice(0), [3], interval);
    }

    // Another process has begun to count, and stalls.
    const stalled = new pg.Client({ connectionString: url });
    await stalled.connect();
    for (const [interval, counts] of [
      ['-30 seconds', []],
      ['-61 seconds', [5]],
    ] as const) {
      await age(interval);
      await stalled.query('BEGIN');
      await stalled.query('SELECT 1 FROM counted_backlog FOR UPDATE');
      assert.equal(await scrape(5), 0);
      await stalled.query('ROLLBACK');
      assert.deepEqual(counted.splice(0), counts, interval);
    }
    await stalled.end();
    await close();
  });

  it('report unreachable dependencies, and never fail', async () => {
    const away = unreachableDatabase();
    const store = { check: () => Promise.reject(new Error('the disk is full')) } as unknown as ObjectStore;
    const never = (): Promise<never> => new Promise(() => {});
    const checks = createServiceChecks(
      { database: away, store, storeClaim: fine.storeClaim, logger: silentLogger() },
      { check: never, queueBacklogs: never },
    );

    assert.deepEqual(await checks.state(), {
      isDatabaseUp: false,
      isStoreUp: false,
      isTemporalUp: false,
      stored: undefined,
      queues: undefined,
    });
    await away.close();
  });
});

describe('the backlogs of the task queues', () => {
  let testDatabase: TestDatabase;
  let asked: number[];
  before(async () => {
    testDatabase = await createTestDatabase();
    asked = [];
  });
  after(() => testDatabase.close());

  const scrape = (process: number, answer = () => Promise.resolve(IN_QUEUES)) =>
    readSharedQueueBacklogs(testDatabase.database, () => {
      asked.push(process);
      return answer();
    });
  const age = (column: string, interval: string) =>
    testDatabase.database.query(
      {
        name: `age_${column}`,
        text: `UPDATE queue_backlogs SET ${column} = now() + $1::interval`,
      },
      [interval],
    );

  it('are asked for by one process for all, and no other waits for it', async () => {
    assert.deepEqual(await scrape(0), IN_QUEUES);
    assert.deepEqual(await Promise.all([scrape(1), scrape(2)]), [IN_QUEUES, IN_QUEUES]);
    assert.deepEqual(asked.splice(0), [0]);

    // Asked a while ago, or before the clock was set back.
    for (const interval of ['-10 seconds', '1 hour']) {
      await age('asked_at', interval);
      const answers = await Promise.all(Array.from({ length: 8 }, (_, process) => scrape(process)));
      assert.ok(answers.every((answer) => answer !== undefined));
      assert.equal(asked.splice(0).length, 1, interval);
    }
  });

  it('are unknown, and not as they were long ago, while Temporal does not answer', async () => {
    await age('asked_at', '-10 seconds');
    await assert.rejects(
      scrape(0, () => Promise.reject(new Error('unavailable'))),
      /unavailable/,
    );
    assert.deepEqual(await scrape(1), IN_QUEUES);

    await age('answered_at', '-46 seconds');
    assert.equal(await scrape(2), undefined);
    assert.deepEqual(asked.splice(0), [0]);
  });

  it('are read, and not asked for, where the database is read-only', async () => {
    await age('asked_at', '-1 hour');
    await testDatabase.database.transaction(async (transaction) => {
      await transaction.query({ name: 'read_only', text: 'SET TRANSACTION READ ONLY' });
      await readSharedQueueBacklogs(transaction, () => assert.fail('it asked'));
    });
  });
});

describe('how long an outbox row has waited', () => {
  it('counts the leases it has had', () => {
    assert.equal(outboxWaitSeconds(0, 3), 3);
    assert.equal(outboxWaitSeconds(0, -3), 0);
    assert.equal(outboxWaitSeconds(1, -14), 1);
    assert.equal(outboxWaitSeconds(2, 0), 45);
    assert.equal(outboxWaitSeconds(3, 0), 105);
    assert.equal(outboxWaitSeconds(1_000, 0), 45 + 998 * 60);
  });
});
