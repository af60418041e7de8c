/** Waiting for a task, its pages and its events, against a server whose connections break. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Darkroom, NotFoundError, TaskFailedError, TimeoutError } from '../src/index.ts';
import type { TaskEvent } from '../src/index.ts';
import { broken, ok, rejected, startService } from '@darkroom/testing/answering-service';
import type { Answer, Service } from '@darkroom/testing/answering-service';

const TASK_ID = 'tk-svc-00000000000000000000000000';
const clientOf = ({ url }: Service): Darkroom => new Darkroom({ baseUrl: url, apiKey: 'key', maxRetries: 3 });
const task = (status: string, more: object = {}): Answer => ok({ taskId: TASK_ID, status, ...more });

function events(...seqs: readonly number[]): Answer {
  return (_request, response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    for (const seq of seqs) response.write(`id: ${seq}\ndata: ${JSON.stringify(eventOf(seq))}\n\n`);
    response.end();
  };
}

/** The fourth is the last. */
function eventOf(seq: number): TaskEvent {
  return { seq, at: 1, type: seq === 4 ? 'settled' : 'produced', detail: {} };
}

async function seqsOf(subscription: AsyncIterable<TaskEvent>): Promise<readonly number[]> {
  const seqs: number[] = [];
  for await (const { seq } of subscription) seqs.push(seq);
  return seqs;
}

describe('waiting for a task', () => {
  it('has the service hold its requests, and survives some that break', async () => {
    await using service = await startService(task('queued'), broken, task('handling'), task('success'));
    const seen: string[] = [];
    await clientOf(service).wait(TASK_ID, { onUpdate: ({ status }) => seen.push(status) });

    assert.deepEqual(seen, ['queued', 'handling', 'success']);
    const preferred = service.received.map(({ headers }) => headers['prefer']);
    assert.deepEqual(preferred, [undefined, 'wait=20', 'wait=20', 'wait=20']);
  });

  it('ends after its time, while the task continues', async () => {
    await using service = await startService(task('handling'));
    await assert.rejects(clientOf(service).wait(TASK_ID, { waitMs: 300 }), (error) => {
      assert.ok(error instanceof TimeoutError);
      assert.match(error.message, /did not end within 300 ms; it continues/);
      return true;
    });
  });

  it('of a run throws the task that failed', async () => {
    const error = { code: 'TASK_FAILED', message: 'rejected', reason: 'content_rejected', retryable: false };
    await using service = await startService(ok({ taskId: TASK_ID }), task('fail', { error }));
    await assert.rejects(clientOf(service).run('a', {}), (failure) => {
      assert.ok(failure instanceof TaskFailedError);
      assert.deepEqual([failure.code, failure.reason, failure.isRetryable], ['TASK_FAILED', 'content_rejected', false]);
      assert.equal(failure.task.taskId, TASK_ID);
      return true;
    });
  });
});

describe('a subscription', () => {
  it('is resumed after the last event, and repeats none', async () => {
    await using service = await startService(
      events(1, 2),
      ok({ events: [] }),
      broken,
      events(2, 3),
      ok({ events: [eventOf(4)] }),
    );
    assert.deepEqual(await seqsOf(clientOf(service).subscribe(TASK_ID)), [1, 2, 3, 4]);
    const resumed = service.received.map(({ headers }) => headers['last-event-id']);
    assert.deepEqual(resumed, [undefined, undefined, '2', '2', undefined]);
  });

  it('ends when there is nothing after the event that it starts at', async () => {
    const nothing: Answer = (_request, response) => void response.writeHead(204).end();
    await using service = await startService(nothing, ok({ events: [] }), task('success'));
    assert.deepEqual(await seqsOf(clientOf(service).subscribe(TASK_ID, { after: 4 })), []);
    assert.equal(service.received[0]?.headers['last-event-id'], '4');
  });

  it('fails when there is no such task, and when its retries are used up', async () => {
    await using service = await startService(rejected(404, 'NOT_FOUND'));
    await assert.rejects(seqsOf(clientOf(service).subscribe(TASK_ID)), NotFoundError);
    assert.equal(service.received.length, 1);

    await using away = await startService(broken);
    await assert.rejects(seqsOf(clientOf(away).subscribe(TASK_ID)), { name: 'ConnectionError' });
    assert.equal(away.received.length, 4);
  });

  it('ends with the reason of its signal while the stream is open', async () => {
    await using service = await startService((_request, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.write(`id: 1\ndata: ${JSON.stringify(eventOf(1))}\n\n`);
    });
    const controller = new AbortController();
    const reading = (async () => {
      for await (const _event of clientOf(service).subscribe(TASK_ID, { signal: controller.signal }))
        controller.abort();
    })();
    await assert.rejects(reading, { name: 'AbortError' });
  });
});

describe('a list', () => {
  it('is read page by page with the same query', async () => {
    await using service = await startService(
      ok({ tasks: [{ taskId: 'a' }, { taskId: 'b' }], nextCursor: 'next' }),
      ok({ tasks: [{ taskId: 'c' }] }),
    );
    const ids: string[] = [];
    const query = { status: ['success', 'fail'] as const, metadata: { order: '7' }, createdAfter: 5 };
    for await (const { taskId } of clientOf(service).listAll(query)) ids.push(taskId);

    assert.deepEqual(ids, ['a', 'b', 'c']);
    const rest = 'status=success%2Cfail&created_after=5&metadata.order=7';
    assert.deepEqual(
      service.received.map(({ url }) => url),
      [
        `/v1/tasks?size=100&${rest}`,
        `/v1/tasks?size=100&status=success%2Cfail&cursor=next&created_after=5&metadata.order=7`,
      ],
    );
  });
});
