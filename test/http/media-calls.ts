/** What tests of OpenAI's media endpoints have in common: the tasks of an account, and events as clients read them. */
import assert from 'node:assert/strict';
import { request } from 'node:http';
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import type { RawAnswer } from './raw-request.ts';
import type { MadeOutput, ServedAccount, ServedApp } from './serve.ts';

export interface FailedAnswer {
  readonly code: number;
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly param: string | null;
    readonly code: string | null;
  };
}

/** One event of a stream, with its data parsed. */
export interface StreamedEvent {
  readonly event: string | undefined;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The whole text of a stream as its events. */
export function eventsOf({ text }: Pick<RawAnswer, 'text'>): readonly StreamedEvent[] {
  return text
    .split('\n\n')
    .filter((block) => block !== '' && !block.startsWith(':'))
    .map((block) => ({
      event: /^event: (.*)$/m.exec(block)?.[1],
      data: JSON.parse(/^data: (.*)$/m.exec(block)?.[1] ?? '') as Record<string, unknown>,
    }));
}

/** Ids, the oldest first. */
export async function tasksOf(served: ServedApp, account: ServedAccount): Promise<readonly TaskId[]> {
  const rows = await served.room.rows<{ id: TaskId }>(
    'SELECT id FROM tasks WHERE account_id = $1 ORDER BY created_at, id',
    account.id,
  );
  return rows.map(({ id }) => id);
}

/** The account's newest task, once it has more than before. */
export async function newestTask(served: ServedApp, account: ServedAccount, before = 0): Promise<TaskId> {
  await waitFor('the task exists', async () => (await tasksOf(served, account)).length > before);
  return (await tasksOf(served, account)).at(-1) ?? assert.fail();
}

/** The input of a task as it is stored. */
export async function inputOfTask(served: ServedApp, taskId: string): Promise<Readonly<Record<string, unknown>>> {
  const [row] = await served.room.rows<{ input: Record<string, unknown> }>(
    'SELECT input FROM tasks WHERE id = $1',
    taskId,
  );
  return row?.input ?? assert.fail();
}

/** How many uploads of an account have not been deleted. */
export async function uploadsOf(served: ServedApp, { id }: ServedAccount): Promise<number> {
  return (await served.room.rows('SELECT id FROM files WHERE account_id = $1 AND gone_at IS NULL', id)).length;
}

/** Records an upload of that size. */
export async function fillUploads(served: ServedApp, { id }: ServedAccount, sizeBytes: number): Promise<void> {
  await served.room.rows(
    `INSERT INTO files (id, account_id, object_key, mime_type, size_bytes, sha256, created_at, expires_at)
     VALUES ($1, $2, $1, 'video/mp4', $3, '', now(), now() + interval '1 hour')`,
    `file_${id}`,
    id,
    sizeBytes,
  );
}

export function madeImage(text: string, facts: Partial<MadeOutput> = { width: 1024, height: 1024 }): MadeOutput {
  return { type: 'image', bytes: Buffer.from(text), mimeType: 'image/png', ...facts };
}

/** A request whose response is read while it arrives, and whose client can leave. */
export interface OpenCall {
  readonly outgoing: ClientRequest;
  /** The head of the response. */
  readonly head: Promise<IncomingMessage>;
  /** What has arrived of the body. */
  text(): string;
  /** Once the response has ended, or the connection is closed. */
  readonly ended: Promise<void>;
}

export function openCall(
  served: ServedApp,
  account: ServedAccount,
  path: string,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): OpenCall {
  const { hostname, port } = new URL(served.url);
  const all = { Authorization: `Bearer ${account.client.key}`, 'Content-Type': 'application/json', ...headers };
  const outgoing = request({ hostname, port, method: 'POST', path, headers: all, agent: false });
  let text = '';
  const head = new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.once('response', resolve);
    outgoing.once('error', reject);
  });
  // A client that leaves before the head looks at neither.
  head.catch(() => undefined);
  const ended = new Promise<void>((resolve) => {
    outgoing.once('response', (incoming: IncomingMessage) => {
      incoming.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      incoming.on('error', () => undefined);
      incoming.once('close', resolve);
    });
  });
  outgoing.on('error', () => undefined);
  outgoing.end(JSON.stringify(body));
  return { outgoing, head, text: () => text, ended };
}
