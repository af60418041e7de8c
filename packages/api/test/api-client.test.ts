/** What the client makes of an error response, whoever on the way has written it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ApiError, createApiClient } from '../src/client/api-client.ts';

async function errorOf(body: unknown): Promise<ApiError> {
  const fetch = async (): Promise<Response> => new Response(JSON.stringify(body), { status: 400 });
  const client = createApiClient({ baseUrl: 'http://127.0.0.1:1/v1', fetch });
  const error = await client.call('GET', '/tasks').catch((reason: unknown) => reason);
  assert.ok(error instanceof ApiError);
  return error;
}

describe('the violations of an error', () => {
  it('are those of its body', async () => {
    const violations = [{ message: 'a', field: 'usd', keyword: 'maximum' }];

    assert.deepEqual(
      (await errorOf({ message: 'a', error_code: 'INVALID_REQUEST', violations })).violations,
      violations,
    );
  });

  it('are an empty list when the body has something else in their field', async () => {
    for (const violations of [undefined, null, 'a', 1, {}]) {
      assert.deepEqual((await errorOf({ message: 'a', violations })).violations, []);
    }
  });
});
