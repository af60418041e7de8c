/** How long the images of an answer may take: clients give up a call after a minute. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createApiClient } from '@darkroom/api/client/api-client';
import type { WireTask } from '@darkroom/api/tasks/task';
import { taskAnswer } from '../src/task-answer.ts';
import { BASE_URL, doneTask } from './done-task.ts';

/** A task with the given number of images, each too large to be sent as it is. */
function taskOf(images: number): WireTask {
  return doneTask(
    Array.from({ length: images }, (_, position) => ({
      type: 'image',
      url: `${BASE_URL}/files/out_${position}.png`,
      mimeType: 'image/png',
      sizeBytes: 3_000_000,
      width: 2_000,
      height: 2_000,
    })),
  );
}

/** @param preview responds for one image, which is identified by its position. */
function answerOf(
  task: WireTask,
  preview: (position: number, signal: AbortSignal) => Promise<Response>,
  { signal = new AbortController().signal, late = new AbortController().signal, mayWait = true } = {},
): ReturnType<typeof taskAnswer> {
  const fetch = (async (url: string, { signal: asked }: { signal: AbortSignal }) =>
    preview(Number(/out_(\d+)/.exec(url)?.[1]), asked)) as typeof globalThis.fetch;
  const api = createApiClient({ baseUrl: BASE_URL, fetch });
  return taskAnswer(task, { api, signal, late, mayWait: () => mayWait, media: 'preview', takesLinks: true });
}

function silence(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error));
  });
}

function busy(status: number, retryAfter: string): Response {
  return Response.json({ message: 'busy' }, { status, headers: { 'Retry-After': retryAfter } });
}

type Answer = Awaited<ReturnType<typeof taskAnswer>>;

function imagesIn({ content }: Answer) {
  return content.filter((block) => block.type === 'image');
}

function linksIn({ content }: Answer) {
  return content.filter((block) => block.type === 'resource_link');
}

function textOf({ content }: Answer): string {
  return content.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
}

describe('the images of an answer', () => {
  it('are fetched in parallel', async () => {
    let asked = 0;
    let release = (): void => {};
    const all = new Promise<void>((resolve) => {
      release = resolve;
    });

    const answer = await answerOf(taskOf(3), async (position) => {
      asked += 1;
      if (asked === 3) release();
      await all;
      return new Response(`image ${position}`);
    });

    assert.deepEqual(
      imagesIn(answer).map(({ data }) => Buffer.from(data, 'base64').toString()),
      ['image 0', 'image 1', 'image 2'],
    );
  });

  it('are links when they have not arrived before the deadline of the answer', async () => {
    const late = new AbortController();

    const answer = await answerOf(
      taskOf(3),
      (position, signal) => {
        if (position === 1) return Promise.resolve(new Response('image 1'));
        if (position === 2) setImmediate(() => late.abort());
        return silence(signal);
      },
      { late: late.signal },
    );

    assert.deepEqual([imagesIn(answer).length, linksIn(answer).length], [1, 3]);
  });

  it('are requested again when the service has no capacity at the moment', async () => {
    const attempts = [0, 0, 0];

    const answer = await answerOf(taskOf(3), async (position) => {
      const earlier = attempts[position] ?? 0;
      attempts[position] = earlier + 1;
      if (earlier === 0 && position > 0) return busy(position === 1 ? 429 : 503, '1');
      return new Response(`image ${position}`);
    });

    assert.deepEqual([imagesIn(answer).length, attempts], [3, [1, 2, 2]]);
    assert.doesNotMatch(textOf(answer), /missing/);
  });

  it('are reported as missing when there is no capacity until the deadline of the answer', async () => {
    const late = new AbortController();

    const answer = await answerOf(
      taskOf(4),
      async (position) => {
        if (position === 1) return new Response('image 1');
        // A permanent failure: waiting does not help.
        if (position === 2) return Response.json({ message: 'not one' }, { status: 415 });
        if (position === 3) setImmediate(() => late.abort());
        return busy(429, '60');
      },
      { late: late.signal },
    );

    assert.deepEqual([imagesIn(answer).length, linksIn(answer).length], [1, 4]);
    assert.match(textOf(answer), /^2 images are missing here, .* Call get_task with task_id "tk-svc-1" to see all\.$/m);
  });

  it('are missing immediately when the process is shutting down', async () => {
    const answer = await answerOf(taskOf(1), async () => busy(503, '60'), { mayWait: false });

    assert.match(textOf(answer), /^1 image is missing here/m);
  });

  it('are aborted when the client cancels the call', async () => {
    const given = new AbortController();

    const answer = answerOf(
      taskOf(2),
      (position, signal) => {
        if (position === 1) setImmediate(() => given.abort(new Error('given up')));
        return silence(signal);
      },
      { signal: given.signal },
    );

    await assert.rejects(answer, /given up/);
  });
});
