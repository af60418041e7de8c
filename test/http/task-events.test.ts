/** `GET /v1/tasks/{id}/events`: the list and the live stream (contract §4). */
import assert from 'node:assert/strict';
import { createConnection } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { newTaskId } from '../../src/domain/ids.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { claimOutbox } from '../../src/tasks/outbox/outbox.ts';
import { settleTask } from '../../src/tasks/lifecycle/settle.ts';
import { addEvents, lockTask } from '../../src/tasks/record/timeline.ts';
import type { NewEvent } from '../../src/tasks/record/timeline.ts';
import { beginHandling } from '../../src/tasks/lifecycle/transitions.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { body } from '../tasks/task-room.ts';
import { openEventSource } from './event-source.ts';
import type { EventSourceReader } from './event-source.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

interface WireEvent {
  readonly seq: number;
  readonly at: number;
  readonly type: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

let nowMs = Date.now();
let served: ServedApp;
let account: ServedAccount;
before(async () => {
  served = await serveApp({ now: () => nowMs });
  account = await served.newAccount();
});
after(() => served.close());

async function createTask(): Promise<TaskId> {
  const { body: created } = await account.client.create(body());
  await claimOutbox(served.room.database, 100);
  return created.data.taskId as TaskId;
}

const begin = (taskId: TaskId): Promise<unknown> => beginHandling(served.room.database, taskId, 60);

async function end(taskId: TaskId): Promise<void> {
  await settleTask(served.room.database, taskId, { status: 'fail', reason: 'provider_error' }, { retentionDays: 7 });
}

async function happen(taskId: TaskId, events: readonly NewEvent[]): Promise<void> {
  await served.room.database.transaction(async (transaction) => {
    await lockTask(transaction, taskId);
    await addEvents(transaction, taskId, events);
  });
}

const pathOf = (taskId: string): string => `/v1/tasks/${taskId}/events`;

function watch(taskId: string, headers: Record<string, string> = {}, query = ''): Promise<EventSourceReader> {
  return openEventSource(`${served.url}${pathOf(taskId)}${query}`, account.client.key, headers);
}

async function list(taskId: string, query = ''): Promise<readonly WireEvent[]> {
  const { status, body: answer } = await account.client.send('GET', `${pathOf(taskId)}${query}`);
  assert.equal(status, 200, JSON.stringify(answer));
  return (answer.data as unknown as { events: readonly WireEvent[] }).events;
}

const typesOf = ({ events }: EventSourceReader): string[] => events.map(({ event }) => event);

/** Waits until the app has this many open streams. */
function waitForStreams(count: number): Promise<void> {
  const { eventStreams } = served.http;
  return waitFor(
    () => `${count} streams; there are ${eventStreams.count()}`,
    () => eventStreams.count() === count,
  );
}

describe('the list of events', () => {
  // Proves C4-8.
  it('returns what happened in order, with Unix seconds and the details of each', async () => {
    const taskId = await createTask();
    await begin(taskId);
    await end(taskId);

    const events = await list(taskId);

    assert.deepEqual(
      events.map(({ seq, type, detail }) => ({ seq, type, detail })),
      [
        { seq: 1, type: 'accepted', detail: {} },
        { seq: 2, type: 'started', detail: {} },
        { seq: 3, type: 'settled', detail: { status: 'fail', reason: 'provider_error' } },
      ],
    );
    for (const { at } of events) assert.ok(Number.isInteger(at) && Math.abs(at - Date.now() / 1000) < 60);
  });

  it('begins after the requested seq', async () => {
    const taskId = await createTask();
    await begin(taskId);

    assert.deepEqual(
      (await list(taskId, '?after=1')).map(({ seq }) => seq),
      [2],
    );
    assert.deepEqual(await list(taskId, '?after=99999999999999999999999'), []);
    assert.equal((await list(taskId, '?after=-5')).length, 2);
    assert.equal((await list(taskId, '?after=0')).length, 2);
  });

  it('rejects an after that is no integer, one given twice, and unknown parameters', async () => {
    const taskId = await createTask();
    for (const query of [
      '?after=',
      '?after=one',
      '?after=1.5',
      '?after=1e3',
      '?after=1&after=2',
      '?before=1',
      '?__proto__=1',
    ]) {
      const { status, body: answer } = await account.client.send('GET', `${pathOf(taskId)}${query}`);
      assert.equal(status, 400, query);
      assert.equal(answer.error_code, 'INVALID_REQUEST');
    }
  });

  it('is the default for a client that does not prefer the stream', async () => {
    const taskId = await createTask();
    for (const accept of [
      '*/*',
      'application/json, text/event-stream',
      'text/event-stream;q=0.5, application/json',
      'text/html',
      '',
    ]) {
      const { headers, isOver } = await watch(taskId, { Accept: accept });
      assert.match(headers.get('content-type') ?? '', /^application\/json/, accept);
      assert.match(headers.get('vary') ?? '', /accept/i);
      assert.ok(headers.get('etag') !== null || isOver);
    }
  });
});

describe('the stream of events', () => {
  // Proves C4-9, C4-17.
  it('sends past events, then new ones, and ends when the task does', async () => {
    const taskId = await createTask();
    const stream = await watch(taskId);
    assert.equal(stream.status, 200);
    assert.equal(stream.headers.get('content-type'), 'text/event-stream; charset=utf-8');
    assert.equal(stream.headers.get('cache-control'), 'no-cache, no-transform');
    assert.equal(stream.headers.get('x-accel-buffering'), 'no');
    assert.ok(stream.headers.get('x-request-id') !== null);
    assert.ok(stream.headers.get('x-ratelimit-limit') !== null);
    await stream.waitFor(1);

    await begin(taskId);
    await stream.waitFor(2);
    assert.equal(stream.isOver, false);
    await end(taskId);
    await stream.ended();

    assert.deepEqual(typesOf(stream), ['accepted', 'started', 'settled']);
    assert.deepEqual(
      stream.events.map(({ id }) => id),
      ['1', '2', '3'],
    );
    assert.deepEqual(
      stream.events.map(({ data }) => data),
      await list(taskId),
    );
  });

  it('of an ended task sends all and ends immediately', async () => {
    const taskId = await createTask();
    await end(taskId);
    await happen(taskId, [['callback_attempted', { attempt: 1, status: 500, durationMs: 7 }]]);

    const stream = await watch(taskId);
    await stream.ended();

    assert.deepEqual(typesOf(stream), ['accepted', 'settled', 'callback_attempted']);
  });

  // Proves C4-9.
  it('resumes after Last-Event-ID, or after the seq of the URL when there is none', async () => {
    const taskId = await createTask();
    await begin(taskId);
    const [byHeader, byQuery, byBoth] = await Promise.all([
      watch(taskId, { 'Last-Event-ID': '1' }),
      watch(taskId, {}, '?after=1'),
      // A browser that reconnects sends the same URL, and its last event id.
      watch(taskId, { 'Last-Event-ID': '2' }, '?after=0'),
    ]);
    await end(taskId);
    await Promise.all([byHeader.ended(), byQuery.ended(), byBoth.ended()]);

    assert.deepEqual(
      [typesOf(byHeader), typesOf(byQuery), typesOf(byBoth)],
      [['started', 'settled'], ['started', 'settled'], ['settled']],
    );
  });

  it('ignores an invalid Last-Event-ID', async () => {
    const taskId = await createTask();
    await end(taskId);
    for (const id of ['', 'abc', '-1', '1.5', '0x1', '99999999999999999999', '1 2', '¼']) {
      const stream = await watch(taskId, { 'Last-Event-ID': encodeURIComponent(id) === id ? id : 'abc' });
      await stream.ended();
      assert.deepEqual(typesOf(stream), ['accepted', 'settled'], id);
    }
  });

  it('returns 204 when the task has ended and the client has everything, so that it stops reconnecting', async () => {
    const taskId = await createTask();
    await end(taskId);
    for (const id of ['2', '3', '999999999']) {
      const { status, events } = await watch(taskId, { 'Last-Event-ID': id });
      assert.equal(status, 204, id);
      assert.deepEqual(events, []);
    }
  });

  it('sends the next event to a client that names one which does not exist yet', async () => {
    const taskId = await createTask();
    const stream = await watch(taskId, { 'Last-Event-ID': '77' });
    await end(taskId);
    await stream.ended();

    assert.deepEqual(typesOf(stream), ['settled']);
  });

  it('returns 404 before any stream for an unknown task, or another account’s', async () => {
    const other = await served.newAccount();
    const taskId = await createTask();
    for (const [id, key] of [
      [taskId, other.client.key],
      [newTaskId(), account.client.key],
      ['tk-svc-x', account.client.key],
      ['__proto__', account.client.key],
    ] as const) {
      const { status, headers } = await openEventSource(`${served.url}${pathOf(id)}`, key);
      assert.equal(status, 404, id);
      assert.match(headers.get('content-type') ?? '', /^application\/json/);
    }
  });

  it('by HEAD ends with its headers', async () => {
    const taskId = await createTask();
    const response = await fetch(`${served.url}${pathOf(taskId)}`, {
      method: 'HEAD',
      headers: { Authorization: `Bearer ${account.client.key}`, Accept: 'text/event-stream' },
    });
    assert.equal(response.status, 200);
    assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/);
    assert.equal(await response.text(), '');
    await waitForStreams(0);
  });

  // Proves C4-18.
  it('sends a comment after 15 s of silence, and not before', async () => {
    const taskId = await createTask();
    const stream = await watch(taskId);
    await stream.waitFor(1);

    nowMs += 14_000;
    served.http.eventStreams.keepAlive();
    await begin(taskId);
    await stream.waitFor(2);
    assert.deepEqual(stream.comments, []);
    // The event reset the interval.
    nowMs += 14_000;
    served.http.eventStreams.keepAlive();
    nowMs += 1_000;
    served.http.eventStreams.keepAlive();
    await waitFor('there is a comment', () => stream.comments.length > 0);
    served.http.eventStreams.keepAlive();
    await end(taskId);
    await stream.ended();

    assert.deepEqual(stream.comments, [': keep-alive']);
    assert.deepEqual(typesOf(stream), ['accepted', 'started', 'settled']);
  });

  it('forgets a client that disconnects', async () => {
    const taskId = await createTask();
    const streams = await Promise.all([watch(taskId), watch(taskId)]);
    await Promise.all(streams.map((stream) => stream.waitFor(1)));
    assert.equal(served.http.eventStreams.count(), 2);

    streams[0]?.leave();
    await waitForStreams(1);
    await begin(taskId);
    await streams[1]?.waitFor(2);
    streams[1]?.leave();
    await waitForStreams(0);
  });

  it('disconnects a client that does not read, and buffers nothing for it', async () => {
    const taskId = await createTask();
    const socket = createConnection({ port: Number(new URL(served.url).port), host: '127.0.0.1' });
    const closed = new Promise<void>((resolve) => {
      socket.once('close', () => resolve());
    });
    socket.on('error', () => undefined);
    socket.pause();
    socket.write(
      `GET ${pathOf(taskId)} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nAuthorization: Bearer ${account.client.key}\r\n\r\n`,
    );
    await waitForStreams(1);

    // More than any system buffers for a connection.
    const large = 'x'.repeat(200_000);
    for (let part = 0; part < 8 && served.http.eventStreams.count() > 0; part++) {
      await happen(
        taskId,
        Array.from({ length: 10 }, () => ['restarted', { large }] as const),
      );
    }
    await waitForStreams(0);
    socket.resume();
    await closed;
  });
});

describe('when the process is stopped', () => {
  it('streams end and their connections close, so that nothing is waited for', async () => {
    const leaving = await serveApp();
    const owner = await leaving.newAccount();
    const { body: created } = await owner.client.create(body());
    const stream = await openEventSource(`${leaving.url}${pathOf(created.data.taskId)}`, owner.client.key);
    await stream.waitFor(1);

    leaving.http.feed.close();
    await stream.ended();

    assert.deepEqual(typesOf(stream), ['accepted']);
    assert.equal(leaving.http.eventStreams.count(), 0);
    await leaving.close();
  });
});
