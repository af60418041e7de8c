/** Videos as tests of `/v1/videos` create, read and settle them, on an app of their own. */
import sharp from 'sharp';
import type { FailureReason } from '../../src/domain/failure-reason.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { beginHandling } from '../../src/tasks/lifecycle/transitions.ts';
import { claimOutbox } from '../../src/tasks/outbox/outbox.ts';
import { failTask } from './image-responses.ts';
import { uploadsOf } from './media-calls.ts';
import { raw } from './raw-request.ts';
import type { RawAnswer } from './raw-request.ts';
import { videoBody, videoForm } from './route-requests.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount } from './serve.ts';

export const PATH = '/v1/videos';

export interface Video {
  readonly id: TaskId;
  readonly status: string;
  readonly progress: number;
  readonly created_at: number;
  readonly completed_at: number | null;
  readonly expires_at: number | null;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly [member: string]: unknown;
}
export interface VideoPage {
  readonly data: readonly Video[];
  readonly first_id: string | null;
  readonly last_id: string | null;
  readonly has_more: boolean;
}
export interface Failed {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly param: string | null;
    readonly code: string;
  };
}
/** Starts the app; the caller closes it. */
export async function openVideos() {
  const served = await serveApp();
  const image = await sharp({ create: { width: 2, height: 1, channels: 3, background: '#c33' } })
    .png()
    .toBuffer();

  async function call<Body = Video & Failed>(
    { client }: ServedAccount,
    method: string,
    path: string,
    body?: object,
    headers: Record<string, string> = {},
  ): Promise<{ status: number; body: Body; headers: Headers }> {
    const answer = await client.send(method, path, body, headers);
    return { status: answer.status, body: answer.body as unknown as Body, headers: answer.headers };
  }

  const create = (
    account: ServedAccount,
    changes: Record<string, unknown> = {},
    headers: Record<string, string> = {},
  ) => call(account, 'POST', PATH, videoBody(changes), headers);
  const get = (account: ServedAccount, id: string) => call(account, 'GET', `${PATH}/${id}`);
  const list = (account: ServedAccount, query = '') => call<VideoPage & Failed>(account, 'GET', `${PATH}${query}`);
  const remove = (account: ServedAccount, id: string) => call(account, 'DELETE', `${PATH}/${id}`);

  async function sendForm(
    account: ServedAccount,
    changes: Parameters<typeof videoForm>[0] = {},
    headers: Record<string, string> = {},
  ): Promise<RawAnswer> {
    const form = await videoForm(changes);
    const all = { ...form.headers, Authorization: `Bearer ${account.client.key}`, ...headers };
    return raw(served.url, 'POST', PATH, all, form.body);
  }

  const parsed = (answer: RawAnswer): Video & Failed => JSON.parse(answer.text) as Video & Failed;
  const png = (): Blob => new Blob([new Uint8Array(image)], { type: 'image/png' });

  async function content(account: ServedAccount, id: string, query = '', headers: Record<string, string> = {}) {
    const all = { Authorization: `Bearer ${account.client.key}`, ...headers };
    return raw(served.url, 'GET', `${PATH}/${id}/content${query}`, all);
  }

  async function tasksOf({
    id,
  }: ServedAccount): Promise<readonly { id: TaskId; input: Record<string, unknown> | null }[]> {
    return served.room.rows('SELECT id, input FROM tasks WHERE account_id = $1 ORDER BY created_at, id', id);
  }

  /** Begins to handle a task, as a worker would. */
  async function handle(taskId: TaskId, percent: number): Promise<void> {
    await claimOutbox(served.room.database, 1_000);
    await beginHandling(served.room.database, taskId, 60);
    await served.room.rows('UPDATE tasks SET progress = $2 WHERE id = $1', taskId, percent);
  }

  const world = () => ({ served, receiverUrl: '' });

  return {
    served,
    image,
    world,
    call,
    create,
    get,
    list,
    remove,
    sendForm,
    content,
    parsed,
    png,
    tasksOf,
    /** Uploads that have not been deleted. */
    uploadsOf: (account: ServedAccount) => uploadsOf(served, account),
    handle,
    fail: (taskId: TaskId, reason: FailureReason) => failTask(served, taskId, reason),
    close: () => served.close(),
  };
}
