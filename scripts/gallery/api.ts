/** The HTTP API as the gallery uses it, like any client. */
import { setTimeout as sleep } from 'node:timers/promises';

export interface Output {
  readonly url: string;
  readonly type: string;
  readonly mimeType: string;
  readonly sizeBytes: number;
  readonly sha256: string;
  readonly width?: number;
  readonly height?: number;
  readonly durationSeconds?: number;
}

export interface Task {
  readonly taskId: string;
  readonly status: string;
  readonly output?: readonly Output[];
  readonly error?: unknown;
  readonly billing?: { readonly captured: string };
}

export interface Model {
  readonly id: string;
  readonly modality: string;
  readonly description: string;
  readonly input_schema: { readonly properties?: Readonly<Record<string, FieldSchema>> };
  readonly examples: readonly Readonly<Record<string, unknown>>[];
}

export interface FieldSchema {
  readonly contentMediaType?: string;
  readonly items?: FieldSchema;
}

export interface Api {
  /** The models with wanted names, with their schemas. */
  models(isWanted: (id: string) => boolean): Promise<readonly Model[]>;
  /** Creates a task and waits for its end, whatever the result. */
  run(model: string, input: Readonly<Record<string, unknown>>): Promise<Task>;
  download(url: string): Promise<Buffer>;
}

/** A problem that the user of the gallery can fix; printed without a stack. */
export class GalleryError extends Error {
  override readonly name = 'GalleryError';
}

/** Longer than any example takes. */
const GIVE_UP_MS = 30 * 60_000;

/** @param baseUrl ends in `/v1`. */
export function connect(baseUrl: string, key: string): Api {
  async function call<T>(method: string, route: string, body?: unknown): Promise<T> {
    const response = await fetch(`${baseUrl}${route}`, {
      method,
      headers: {
        Authorization: `Bearer ${key}`,
        Prefer: 'wait=20',
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new GalleryError(`${method} ${route}: ${response.status} ${text.slice(0, 500)}`);
    return JSON.parse(text) as T;
  }

  return {
    async models(isWanted) {
      const list = await call<{ data: readonly { id: string }[] }>('GET', '/models');
      const wanted = list.data.filter(({ id }) => isWanted(id));
      return Promise.all(wanted.map(({ id }) => call<Model>('GET', `/models/${id}`)));
    },
    async run(model, input) {
      const created = await call<{ data: { taskId: string } }>('POST', '/tasks', { model, input });
      const deadline = Date.now() + GIVE_UP_MS;
      for (;;) {
        const { data: task } = await call<{ data: Task }>('GET', `/tasks/${created.data.taskId}`);
        if (task.status === 'success' || task.status === 'fail') return task;
        if (Date.now() > deadline) throw new Error(`${task.taskId} of ${model} does not end`);
        await sleep(200);
      }
    },
    async download(url) {
      const response = await fetch(url);
      if (!response.ok) throw new Error(`${url}: ${response.status}`);
      return Buffer.from(await response.arrayBuffer());
    },
  };
}
