/** The record of a stream in the background, on a real PostgreSQL whose answers get lost. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { silentLogger } from '../../../src/telemetry/log.ts';
import { beginAttempt } from '../../../src/text/background/call-record.ts';
import type { BackgroundCall } from '../../../src/text/background/call-record.ts';
import { createBackgroundFeed, EventRecorder, appendEvents } from '../../../src/text/background/event-log.ts';
import { insertBackgroundCall } from '../../../src/text/background/queue.ts';
import { cancelCall, recordOutcome } from '../../../src/text/background/record-outcome.ts';
import { DONE, frameOf } from '../../../src/text/encoder.ts';
import { estimatedSettlement } from '../../../src/text/money/move.ts';
import { createTestDatabase } from '../../support/test-database.ts';
import type { TestDatabase } from '../../support/test-database.ts';
import { wireTo } from '../money/text-processes.ts';

const ACCOUNT = 'acc_test';

interface WireEvent {
  readonly type: string;
  readonly n?: number;
  readonly sequence_number: number;
}

describe('the record of a stream', () => {
  let room: TestDatabase;
  before(async () => {
    room = await createTestDatabase();
  });
  after(() => room.close());

  async function newAttempt(): Promise<BackgroundCall> {
    const id = `resp_${randomUUID().replaceAll('-', '')}`;
    const response = { id, status: 'queued' };
    await room.database.transaction(async (transaction) => {
      await insertBackgroundCall(transaction, {
        id,
        accountId: ACCOUNT,
        keyId: 'key',
        surface: 'responses',
        isStreamed: true,
        spendCapIds: [],
        request: { input: 'Hello' },
        response,
      });
      await appendEvents(transaction, id, [{ type: 'response.created', response }]);
    });
    return (await beginAttempt(room.database, id, randomUUID())) ?? assert.fail('it has ended');
  }

  async function end(call: BackgroundCall, recorder: EventRecorder): Promise<boolean> {
    const settlement = estimatedSettlement({ id: call.id, accountId: ACCOUNT, inputTokens: 1 }, 0n);
    return recordOutcome(room.database, call, { state: 'answered', settlement }, (transaction) =>
      recorder.finish(transaction, [{ type: 'response.completed' }]),
    );
  }

  /** All events of a call that has ended, as a reader gets them. */
  async function eventsOf(id: string): Promise<readonly WireEvent[]> {
    const feed = createBackgroundFeed({ database: room.database, logger: silentLogger() });
    const events: WireEvent[] = [];
    for await (const frame of feed.follow(id, new AbortController().signal)) {
      events.push(JSON.parse(frame.slice(frame.indexOf('data: ') + 6)) as WireEvent);
    }
    return events;
  }

  function delta(n: number, padding = ''): string {
    return frameOf({ type: 'response.output_text.delta', sequence_number: 900 + n, n, padding });
  }

  it('has every event once, whatever becomes of the writes', async () => {
    for (const state of ['good', 'cut', 'deaf'] as const) {
      const call = await newAttempt();
      const wire = wireTo(room.database);
      const recorder = await EventRecorder.open(wire.database, call);
      const large = 'x'.repeat(40_000);
      for (let n = 0; n < 12; n++) {
        wire.state = n % 3 === 0 ? 'good' : state;
        await recorder.add(delta(n, large));
      }
      await recorder.add(DONE);
      await recorder.close();
      assert.equal(await end(call, recorder), true);
      const events = await eventsOf(call.id);
      assert.deepEqual(
        events.map(({ n }) => n),
        [undefined, ...Array.from({ length: 12 }, (_, n) => n), undefined],
        state,
      );
      assert.deepEqual(
        events.map((event) => event.sequence_number),
        events.map((_, index) => index),
        state,
      );
    }
  });

  it('takes nothing from an attempt that was superseded', async () => {
    const first = await newAttempt();
    const old = await EventRecorder.open(room.database, first);
    await old.add(delta(0, 'x'.repeat(70_000)));
    await old.close();
    const other = randomUUID();
    await room.database.query({
      name: 'test_process_that_runs_long',
      text: `INSERT INTO text_processes (id, leased_until, unbroken_since)
             VALUES ('${other}', now() + interval '1 h', now() - interval '1 h')`,
    });
    const second = (await beginAttempt(room.database, first.id, other)) ?? assert.fail('it has ended');
    const recorder = await EventRecorder.open(room.database, second);
    assert.equal(recorder.next, 2);
    await old.add(delta(1, 'x'.repeat(70_000)));
    await old.close();
    await recorder.add(delta(2, 'x'.repeat(70_000)));
    await recorder.close();
    assert.equal(await end(first, old), false);
    assert.equal(await end(second, recorder), true);
    const events = await eventsOf(first.id);
    assert.deepEqual(
      events.map(({ n, type }) => n ?? type),
      ['response.created', 0, 2, 'response.completed'],
    );
  });

  it('ends where the call was cancelled', async () => {
    const call = await newAttempt();
    const recorder = await EventRecorder.open(room.database, call);
    await recorder.add(delta(0, 'x'.repeat(70_000)));
    const [isCancelled] = await Promise.all([
      cancelCall(room.database, { id: call.id, accountId: ACCOUNT }, Date.now()),
      recorder.add(delta(1, 'x'.repeat(70_000))),
    ]);
    await recorder.close();
    assert.equal(isCancelled, true);
    assert.equal(await end(call, recorder), false);
    const types = (await eventsOf(call.id)).map(({ type }) => type);
    assert.equal(types.at(-1), 'response.cancelled');
    assert.equal(types.filter((type) => type === 'response.cancelled').length, 1);
  });
});
