/** The feed of live events: none lost, none twice, in order, whatever else happens (contract §4). */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Caller } from '../../src/accounts/authenticate.ts';
import { openDatabase } from '../../src/database/database.ts';
import type { Queryable } from '../../src/database/database.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { createEventFeed } from '../../src/tasks/listing/feed.ts';
import type { EventFeed } from '../../src/tasks/listing/feed.ts';
import { addEvent, addEvents, lockTask } from '../../src/tasks/record/timeline.ts';
import type { TaskEvent } from '../../src/tasks/record/timeline.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { body, openTaskRoom } from './task-room.ts';
import type { TaskRoom } from './task-room.ts';
import { startDatabaseWire } from '../support/database-wire.ts';
import { programConfig } from '../support/pooled-run.ts';

let room: TaskRoom;
let caller: Caller;
let feed: EventFeed;
before(async () => {
  room = await openTaskRoom();
  caller = await room.newCaller({ queueCap: 10_000 });
  feed = createEventFeed({ database: room.database, logger: silentLogger() });
});
after(async () => {
  feed.close();
  await room.close();
});

async function newTask(): Promise<TaskId> {
  return (await room.creator.create(caller, body(), undefined)).taskId;
}

async function happen(taskId: TaskId, type: 'restarted' | 'erased' = 'restarted'): Promise<void> {
  await room.database.transaction(async (transaction) => {
    await lockTask(transaction, taskId);
    await addEvent(transaction, taskId, type);
  });
}

interface Listening {
  readonly events: TaskEvent[];
  ends: number;
  stop(): void;
}

function listen(taskId: TaskId, from = 0, on: EventFeed = feed): Listening {
  const listening: Listening = { events: [], ends: 0, stop: () => {} };
  listening.stop = on.subscribe(taskId, from, {
    onEvent: (event) => listening.events.push(event),
    onEnd: () => {
      listening.ends += 1;
    },
  });
  return listening;
}

const seqs = ({ events }: Listening): number[] => events.map(({ seq }) => seq);
const upTo = (last: number): number[] => Array.from({ length: last }, (_, index) => index + 1);

/** Waits until a listener has received this many events. */
function waitForEvents(count: number, { events }: Listening): Promise<void> {
  return waitFor(
    () => `${count} events; there are ${events.length}`,
    () => events.length >= count,
  );
}

describe('subscribing to a task', () => {
  it('delivers past and new events, in order, with their details', async () => {
    const taskId = await newTask();
    const listening = listen(taskId);
    await happen(taskId);
    await happen(taskId, 'erased');

    await waitForEvents(3, listening);
    listening.stop();

    assert.deepEqual(
      listening.events.map(({ seq, type, detail }) => [seq, type, detail]),
      [
        [1, 'accepted', null],
        [2, 'restarted', null],
        [3, 'erased', null],
      ],
    );
    for (const { at } of listening.events) assert.ok(Number.isInteger(at) && Math.abs(at - Date.now() / 1000) < 60);
  });

  it('delivers the same to several subscribers, and nothing after one has unsubscribed', async () => {
    const taskId = await newTask();
    const [first, second, gone] = [listen(taskId), listen(taskId), listen(taskId)];
    await waitForEvents(1, gone);
    gone.stop();
    gone.stop();
    await happen(taskId);

    await Promise.all([waitForEvents(2, first), waitForEvents(2, second)]);
    first.stop();
    second.stop();

    assert.deepEqual([seqs(first), seqs(second), seqs(gone)], [[1, 2], [1, 2], [1]]);
  });

  it('loses no event whose transaction began before another’s and committed after it', async () => {
    const [early, late] = [await newTask(), await newTask()];
    const [ofEarly, ofLate] = [listen(early, 1), listen(late, 1)];
    const written = milestone();
    const mayCommit = milestone();
    const held = room.database.transaction(async (transaction: Queryable) => {
      await lockTask(transaction, early);
      await addEvent(transaction, early, 'restarted');
      written.reach();
      await mayCommit.reached;
    });
    await written.reached;
    for (let time = 0; time < 3; time++) {
      await happen(late);
      await waitForEvents(time + 1, ofLate);
    }
    assert.deepEqual(seqs(ofEarly), []);
    mayCommit.reach();
    await held;

    await waitForEvents(1, ofEarly);
    ofEarly.stop();
    ofLate.stop();

    assert.deepEqual(seqs(ofLate), [2, 3, 4]);
  });

  it('delivers to each of many subscribers all of its events once, while they come and go and many write', async () => {
    // Enough for several polls.
    const EVENTS = 60;
    const tasks = await Promise.all(Array.from({ length: 24 }, newTask));
    const listeners: { readonly from: number; readonly listening: Listening }[] = [];
    await Promise.all(
      tasks.map(async (taskId, index) => {
        for (let event = 0; event < EVENTS; event++) {
          if (event % 20 === index % 20) {
            const from = index % 3 === 0 ? event : 0;
            listeners.push({ from, listening: listen(taskId, from) });
          }
          if (event % 7 === 6) listen(taskId).stop();
          await happen(taskId);
        }
      }),
    );

    const isAtItsEnd = ({ listening }: (typeof listeners)[number]): boolean =>
      listening.events.at(-1)?.seq === EVENTS + 1;
    await waitFor('every listener has the last event', () => listeners.every(isAtItsEnd));

    for (const { from, listening } of listeners) {
      listening.stop();
      assert.deepEqual(seqs(listening), upTo(EVENTS + 1).slice(from));
    }
  });

  it('catches up with more events than one poll returns', async () => {
    const taskId = await newTask();
    await room.database.transaction(async (transaction) => {
      await lockTask(transaction, taskId);
      await addEvents(
        transaction,
        taskId,
        Array.from({ length: 2_500 }, () => ['restarted'] as const),
      );
    });
    const listening = listen(taskId);

    await waitForEvents(2_501, listening);
    listening.stop();

    assert.deepEqual(seqs(listening), upTo(2_501));
  });
});

describe('the feed itself', () => {
  it('queries the database only while there are subscribers', async () => {
    const asked = { idle: 0, busy: 0 };
    const [idleDatabase, busyDatabase] = (['idle', 'busy'] as const).map((name) =>
      openDatabase({ ...programConfig(room.url), poolSize: 2 }, silentLogger(), () => {
        asked[name] += 1;
      }),
    );
    assert.ok(idleDatabase && busyDatabase);
    const [idle, busy] = [idleDatabase, busyDatabase].map((database) =>
      createEventFeed({ database, logger: silentLogger() }),
    );
    assert.ok(idle && busy);
    const taskId = await newTask();

    const listening = [listen(taskId, 0, idle), listen(taskId, 0, busy)];
    await waitFor('the idle one asks', () => asked.idle >= 2);
    listening[0]?.stop();
    const askedBefore = asked.idle;
    const busyBefore = asked.busy;
    await waitFor('the busy one goes on asking', () => asked.busy >= busyBefore + 4);
    assert.equal(asked.idle, askedBefore);

    // A new listener gets what happened meanwhile.
    await happen(taskId);
    const again = listen(taskId, 1, idle);
    await waitForEvents(1, again);
    idle.close();
    busy.close();
    await Promise.all([idleDatabase.close(), busyDatabase.close()]);
  });

  it('resumes after the database was unavailable', async () => {
    const config = programConfig(room.url);
    const wire = await startDatabaseWire(config.url);
    const database = openDatabase({ ...config, url: wire.url, poolSize: 2 }, silentLogger());
    let failed = 0;
    const query: Queryable['query'] = async <Row>(...parameters: Parameters<Queryable['query']>) => {
      try {
        return await database.query<Row>(...parameters);
      } catch (error) {
        failed += 1;
        throw error;
      }
    };
    const own = createEventFeed({ database: { query }, logger: silentLogger() });
    const taskId = await newTask();
    const listening = listen(taskId, 0, own);
    await waitForEvents(1, listening);

    wire.cut();
    await happen(taskId);
    await happen(taskId);
    await waitFor('the feed meets the cut', () => failed > 0);
    // A listener that joins during the outage, and for which a poll has already failed.
    const other = await newTask();
    const late = listen(other, 0, own);
    const failedBefore = failed;
    await waitFor('the feed meets the cut again', () => failed > failedBefore);
    assert.deepEqual([seqs(listening), seqs(late)], [[1], []]);
    wire.repair();

    await waitForEvents(1, late);

    await waitForEvents(3, listening);
    await happen(taskId);
    await waitForEvents(4, listening);
    assert.deepEqual(seqs(listening), [1, 2, 3, 4]);
    own.close();
    await database.close();
    wire.close();
  });

  it('notifies its subscribers when it ends, each once, and later ones too', async () => {
    const own = createEventFeed({ database: room.database, logger: silentLogger() });
    const taskId = await newTask();
    const listening = [listen(taskId, 0, own), listen(taskId, 0, own)];
    own.close();
    const late = listen(taskId, 0, own);
    await waitFor('the late one is notified of the end', () => late.ends > 0);

    assert.deepEqual(
      [...listening, late].map(({ ends }) => ends),
      [1, 1, 1],
    );
    for (const each of [...listening, late]) {
      each.stop();
      assert.deepEqual(seqs(each), []);
    }
  });
});

function milestone(): { reach(): void; readonly reached: Promise<void> } {
  let reach = (): void => {};
  const reached = new Promise<void>((resolve) => {
    reach = resolve;
  });
  return { reach: () => reach(), reached };
}
