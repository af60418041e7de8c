/** The account's reading routes as a client requests them, shared by their tests. */
import assert from 'node:assert/strict';
import type { ApiClient } from '../support/api-client.ts';
import { body } from '../tasks/task-room.ts';

export interface Answer<Data> {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly data: Data;
}

export async function get<Data>(client: ApiClient, path: string): Promise<Answer<Data>> {
  const { status, body: envelope } = await client.send('GET', path);
  const { error_code: code, message, data } = envelope;
  return { status, code, message, data: data as unknown as Data };
}

/** Creates a task of the test model and returns its id. */
export async function created(client: ApiClient): Promise<string> {
  const { status, body: envelope } = await client.create(body());
  assert.equal(status, 200, envelope.message);
  return envelope.data.taskId;
}
