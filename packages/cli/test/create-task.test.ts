/** What becomes of a create whose answer is an error: it is sent again, rejected, or left unknown. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ApiError, UnreachableError, createApiClient } from '@darkroom/api/client/api-client';
import { createTask } from '../src/create-task.ts';

/** Statuses of the responses, in order; undefined: the connection breaks. The last one repeats. */
async function created(...statuses: readonly (number | undefined)[]): Promise<unknown> {
  const left = [...statuses];
  const fetch = async (): Promise<Response> => {
    const status = left.length > 1 ? left.shift() : left[0];
    if (status === undefined) throw new TypeError('fetch failed');
    return Response.json({ data: { taskId: 'task_1' }, message: 'a message', error_code: '' }, { status });
  };
  const options = { idempotencyKey: 'key-1', signal: new AbortController().signal, say: () => undefined };
  const api = createApiClient({ baseUrl: 'http://127.0.0.1:1/v1', fetch });
  return createTask(api, { model: 'acme/image', input: {} }, options).catch((error: unknown) => error);
}

describe('a create whose answer is an error', () => {
  it('is sent again when the request did not arrive in time, and when the connection broke', async () => {
    assert.equal(await created(408, 200), 'task_1');
    assert.equal(await created(undefined, 200), 'task_1');
  });

  it('is rejected when it cannot have created a task', async () => {
    for (const status of [400, 402, 429]) {
      const error = await created(status);
      assert.ok(error instanceof ApiError);
      assert.equal(error.status, status);
    }
  });

  it('is left unknown, with the key to continue with, when it may have created a task', async () => {
    for (const statuses of [[503], [undefined, 429]]) {
      const error = await created(...statuses);
      assert.ok(error instanceof UnreachableError);
      assert.match(error.message, /unknown whether the task was created.* --idempotency-key key-1/);
    }
  });
});
