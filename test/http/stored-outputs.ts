/** Stored outputs as a client of the served app sees them. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { ApiAnswer } from '../support/api-client.ts';
import { body } from '../tasks/task-room.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

export interface StoredItem {
  readonly id: string;
  readonly taskId: string;
  readonly model: string;
  readonly type: string;
  readonly mimeType: string;
  readonly size: number;
  readonly url: string;
  readonly expireAt: number;
  readonly storage_tier: string;
  readonly status: string;
  readonly created: number;
  readonly retainUntil: number;
}

export interface StoredPage {
  readonly page: number;
  readonly size: number;
  readonly total: number;
  readonly totalIsCapped?: true;
  readonly items: readonly StoredItem[];
}

/** The app on a clock that a test advances; it is fixed then, so that a slow machine does not advance it. */
export interface AppWithClock {
  readonly served: ServedApp;
  /** Runs at a given time, in milliseconds since 1970. */
  at<T>(moment: number, work: () => Promise<T>): Promise<T>;
  /** Runs at a future time, in milliseconds from now. */
  later<T>(ms: number, work: () => Promise<T>): Promise<T>;
}

export async function serveWithClock(): Promise<AppWithClock> {
  let standsAt: number | undefined;
  const served = await serveApp({ now: () => standsAt ?? Date.now() });
  const at: AppWithClock['at'] = async (moment, work) => {
    standsAt = moment;
    try {
      return await work();
    } finally {
      standsAt = undefined;
    }
  };
  return { served, at, later: (ms, work) => at(Date.now() + ms, work) };
}

/** A finished task with one output, whose object is `outputs/<taskId>/1`. */
export async function storeOutput(
  served: ServedApp,
  account: ServedAccount,
  bytes = randomBytes(10),
): Promise<{ readonly taskId: string; readonly id: string }> {
  const { taskId } = (await account.client.create(body())).body.data;
  await served.succeed(taskId, bytes);
  const [output] = (await account.client.get(taskId)).body.data.output ?? [];
  assert.ok(output);
  return { taskId, id: output.id };
}

export async function listStored({ client }: Pick<ServedAccount, 'client'>, query = ''): Promise<StoredPage> {
  const answer = await client.send('GET', `/v1/storages${query}`);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body.data as unknown as StoredPage;
}

/** The decision about each id. */
export function decisionOf(answer: ApiAnswer): {
  readonly accepted: readonly string[];
  readonly rejected: readonly { readonly id: string; readonly reason: string }[];
} {
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body.data as unknown as ReturnType<typeof decisionOf>;
}
