/** The work on batches with the real app, database and store, and without Temporal: the test takes each step itself. */
import assert from 'node:assert/strict';
import type { WireBatch } from '@darkroom/api/openai/batches';
import { advanceBatch } from '../../src/batches/advance.ts';
import type { AdvanceResult } from '../../src/batches/advance.ts';
import { readBatch } from '../../src/batches/batch-record.ts';
import type { Batch } from '../../src/batches/batch-record.ts';
import type { BatchContext } from '../../src/batches/context.ts';
import { feedLines } from '../../src/batches/feed.ts';
import { createLineSource } from '../../src/batches/input-lines.ts';
import { validateBatch } from '../../src/batches/validate.ts';
import { verifyLedger } from '../../src/billing/verify.ts';
import { createBatchContext } from '../../src/processes/runners.ts';
import { fileForm } from '../http/route-requests.ts';
import { raw } from '../http/raw-request.ts';
import { serveApp } from '../http/serve.ts';
import type { ServeOptions, ServedAccount, ServedApp } from '../http/serve.ts';
import { createGate } from '../support/held-answers.ts';

export interface BatchLab {
  readonly served: ServedApp;
  readonly context: BatchContext;
  /** Records a batch of these lines. */
  create(account: ServedAccount, endpoint: string, lines: readonly string[]): Promise<Batch>;
  /** The same, whose lines may be fed. */
  begin(account: ServedAccount, endpoint: string, lines: readonly string[]): Promise<Batch>;
  /** Works on a batch for as long as there is something to do. */
  advance(batch: Batch): Promise<AdvanceResult>;
  read(batch: Batch): Promise<Batch>;
  /** The lines of a file of results. */
  results(account: ServedAccount, fileId: string | null): Promise<readonly ResultLine[]>;
  /** The same in short: the `custom_id` of each line, and the status of its response or the code of its error. */
  outcomes(account: ServedAccount, fileId: string | null): Promise<readonly (readonly unknown[])[]>;
  /** How many tasks an account has. */
  tasksOf(account: ServedAccount): Promise<number>;
}

/** A line of a file of results. */
export interface ResultLine {
  readonly id: string;
  readonly custom_id: string | null;
  readonly response: { readonly status_code: number; readonly body: Readonly<Record<string, unknown>> } | null;
  readonly error: { readonly code: string } | null;
}

/** An attempt that stops right before it creates the tasks, until it may go on. */
export interface FrozenAttempt {
  readonly context: BatchContext;
  /** Resolves once it has stopped there. */
  readonly frozen: Promise<void>;
  goOn(): void;
}

export const NEVER = new AbortController().signal;

export async function openBatchLab(options: ServeOptions = {}): Promise<BatchLab> {
  const served = await serveApp(options);
  const { http, room } = served;
  const context = createBatchContext(http, room.installationId);
  const bearer = ({ client }: ServedAccount) => ({ Authorization: `Bearer ${client.key}` });
  const lab: BatchLab = {
    served,
    context,
    async create(account, endpoint, lines) {
      const form = await fileForm({ purpose: 'batch' }, lines.join('\n'), 'lines.jsonl');
      const stored = await raw(served.url, 'POST', '/v1/files', { ...form.headers, ...bearer(account) }, form.body);
      assert.equal(stored.status, 200, stored.text);
      const { id } = JSON.parse(stored.text) as { id: string };
      const body = { input_file_id: id, endpoint, completion_window: '24h' };
      const created = await account.client.send('POST', '/v1/batches', body);
      assert.equal(created.status, 200, JSON.stringify(created.body));
      return readBatch(room.database, (created.body as unknown as WireBatch).id);
    },
    async begin(account, endpoint, lines) {
      const batch = await lab.create(account, endpoint, lines);
      await validateBatch(context, batch, NEVER);
      return lab.read(batch);
    },
    advance: ({ id }) => advanceBatch(context, id, NEVER),
    read: ({ id }) => readBatch(room.database, id),
    async results(account, fileId) {
      if (fileId === null) return [];
      const answer = await raw(served.url, 'GET', `/v1/files/${fileId}/content`, bearer(account));
      assert.equal(answer.status, 200, answer.text);
      return answer.text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as ResultLine);
    },
    async outcomes(account, fileId) {
      const lines = await lab.results(account, fileId);
      return lines.map(({ custom_id: id, response, error }) => [id, response?.status_code ?? error?.code]);
    },
    async tasksOf({ id }) {
      const rows = await room.rows<{ tasks: number }>(
        'SELECT count(*)::integer AS tasks FROM tasks WHERE account_id = $1',
        id,
      );
      return rows[0]?.tasks ?? 0;
    },
  };
  return lab;
}

export function freezeBeforeCreate(context: BatchContext): FrozenAttempt {
  const [frozen, released] = [createGate(), createGate()];
  return {
    context: {
      ...context,
      taskCreator: {
        async createMany(...parameters) {
          frozen.open();
          await released.opened;
          return context.taskCreator.createMany(...parameters);
        },
      },
    },
    frozen: frozen.opened,
    goOn: () => released.open(),
  };
}

/** Feeds lines of a batch, as a step does. @param open how many lines have not ended. */
export async function feed(context: BatchContext, batch: Batch, open = 0): Promise<boolean> {
  const source = createLineSource(context, batch, NEVER);
  try {
    return (await feedLines(context, batch, { open, source, signal: NEVER })).lines > 0;
  } finally {
    await source.close();
  }
}

/** Closes a lab, whose calls are settled: the ledger adds up. */
export async function closeSettledLab({ served }: BatchLab): Promise<void> {
  await served.text.ledger.flush();
  assert.deepEqual(await verifyLedger(served.room.database), []);
  await served.close();
}

/** The ids of the text calls that the lines of a batch became, in the order of the lines. */
export async function callIdsOf({ served }: BatchLab, batch: Batch): Promise<readonly string[]> {
  const rows = await served.room.rows<{ id: string }>(
    'SELECT id FROM background_calls WHERE batch_id = $1 ORDER BY line',
    batch.id,
  );
  return rows.map(({ id }) => id);
}
