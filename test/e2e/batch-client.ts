/** Batches as a client makes them, over HTTP. */
import assert from 'node:assert/strict';
import type { WireBatch } from '@darkroom/api/openai/batches';
import { waitFor } from '@darkroom/testing/wait-for';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';

/** A line of a file of results. */
export interface ResultLine {
  readonly id: string;
  readonly custom_id: string | null;
  readonly response: { readonly status_code: number; readonly request_id: string; readonly body: ResultBody } | null;
  readonly error: { readonly code: string; readonly message: string } | null;
}

/** Members of the bodies that tests read. */
export interface ResultBody {
  readonly data?: unknown;
  readonly error_code?: string;
  readonly error?: { readonly code: string | null; readonly param: string | null; readonly message: string };
  readonly status?: string;
}

export function lineOf(url: string, customId: string, body: unknown): string {
  return JSON.stringify({ custom_id: customId, method: 'POST', url, body });
}

export class BatchClient {
  readonly #url: string;
  readonly #account: TestAccount;

  constructor(url: string, account: TestAccount) {
    this.#url = url;
    this.#account = account;
  }

  get key(): string {
    return this.#account.client.key;
  }

  /** @returns the id of the file. */
  upload(lines: readonly string[]): Promise<string> {
    return this.uploadFile('batch', new Blob([lines.join('\n')]), 'lines.jsonl');
  }

  /** @returns the id of the file. */
  async uploadFile(purpose: string, content: Blob, name: string): Promise<string> {
    const form = new FormData();
    form.append('purpose', purpose);
    form.append('file', content, name);
    const headers = { Authorization: `Bearer ${this.#account.client.key}` };
    const response = await fetch(`${this.#url}/v1/files`, { method: 'POST', headers, body: form });
    const text = await response.text();
    assert.equal(response.status, 200, text);
    return (JSON.parse(text) as { id: string }).id;
  }

  async create(endpoint: string, lines: readonly string[], more: object = {}): Promise<WireBatch> {
    const body = { input_file_id: await this.upload(lines), endpoint, completion_window: '24h', ...more };
    return this.#send('POST', '/v1/batches', body);
  }

  /** Creates one, and waits for its end. */
  async run(endpoint: string, lines: readonly string[]): Promise<WireBatch> {
    return this.waitForEnd((await this.create(endpoint, lines)).id);
  }

  get(id: string): Promise<WireBatch> {
    return this.#send('GET', `/v1/batches/${id}`);
  }

  cancel(id: string): Promise<WireBatch> {
    return this.#send('POST', `/v1/batches/${id}/cancel`);
  }

  async waitForEnd(id: string): Promise<WireBatch> {
    let batch = await this.get(id);
    const hasEnded = (): boolean => ['completed', 'failed', 'expired', 'cancelled'].includes(batch.status);
    await waitFor(
      () => `the end of ${JSON.stringify(batch)}`,
      async () => {
        if (!hasEnded()) batch = await this.get(id);
        return hasEnded();
      },
    );
    return batch;
  }

  /** The lines of a file of results; none without a file. */
  async results(fileId: string | undefined): Promise<readonly ResultLine[]> {
    if (fileId === undefined) return [];
    const headers = { Authorization: `Bearer ${this.#account.client.key}` };
    const response = await fetch(`${this.#url}/v1/files/${fileId}/content`, { headers });
    assert.equal(response.status, 200);
    const lines = (await response.text()).split('\n');
    assert.equal(lines.pop(), '');
    return lines.map((line) => JSON.parse(line) as ResultLine);
  }

  async #send(method: string, path: string, body?: unknown): Promise<WireBatch> {
    const answer = await this.#account.client.send(method, path, body);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return answer.body as unknown as WireBatch;
  }
}

export const TASKS = '/v1/tasks';

/** A line that creates a task. */
export function taskLine(customId: string, prompt = 'a lake'): string {
  return lineOf(TASKS, customId, { model: 'darkroom/scene', input: { prompt } });
}

export type AccountOptions = Parameters<Darkroom['createAccount']>[0];

/** A new account, and its client. */
export async function newBatchClient(
  darkroom: Darkroom,
  options: AccountOptions = {},
): Promise<{ readonly account: TestAccount; readonly batches: BatchClient }> {
  const account = await darkroom.createAccount(options);
  return { account, batches: new BatchClient(darkroom.url, account) };
}

/** How many tasks an account has. */
export async function countTasks(darkroom: Darkroom, { id }: TestAccount): Promise<number> {
  const rows = await darkroom.testDatabase.database.query<{ tasks: number }>(
    {
      name: 'count_tasks_of_account',
      text: 'SELECT count(*)::integer AS tasks FROM tasks WHERE account_id = $1',
    },
    [id],
  );
  return rows[0]?.tasks ?? 0;
}
