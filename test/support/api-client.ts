/**
 * A client as a user would write one: plain HTTPS calls without any of our code. It returns the status and the
 * headers for the tests.
 */
import type { Violation } from '@darkroom/api/facts/violation';
import { waitFor } from '@darkroom/testing/wait-for';

export interface ApiAnswer {
  readonly status: number;
  readonly headers: Headers;
  // Any JSON: tests check it.
  readonly body: ApiBody;
}

export interface ApiBody {
  readonly code: number;
  readonly message: string;
  readonly error_code: string;
  readonly violations?: readonly Violation[];
  readonly data: ApiTask;
}

export interface ApiTask {
  readonly taskId: string;
  readonly status: string;
  readonly model: string;
  readonly created: number;
  readonly completed: number;
  readonly output?: readonly {
    readonly id: string;
    readonly url: string;
    readonly type: string;
    readonly expireAt: number;
    readonly width: number;
    readonly height: number;
    readonly mimeType: string;
    readonly sizeBytes: number;
    readonly sha256: string;
  }[];
  readonly error?: {
    readonly code: string;
    readonly reason: string;
    readonly message: string;
    readonly field?: string;
    readonly retryable: boolean;
  };
  readonly billing: { readonly held: string; readonly captured: string; readonly released: string };
  readonly callback?: { readonly state: string; readonly attempts: number; readonly nextAttempt: number };
}

export class ApiClient {
  readonly #urls: readonly string[];
  readonly key: string;
  readonly #headers: Readonly<Record<string, string>>;
  #next = 0;

  /** @param headers of every request. */
  constructor(urls: readonly string[], key: string, headers: Readonly<Record<string, string>> = {}) {
    this.#urls = urls;
    this.key = key;
    this.#headers = headers;
  }

  /** Sends a request, to each api in turn if there are several. */
  async send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<ApiAnswer> {
    const url = this.#urls[this.#next++ % this.#urls.length];
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        Authorization: `Bearer ${this.key}`,
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...this.#headers,
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    return { status: response.status, headers: response.headers, body: (await response.json()) as ApiBody };
  }

  create(body: unknown, idempotencyKey?: string): Promise<ApiAnswer> {
    return this.send(
      'POST',
      '/v1/tasks',
      body,
      idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey },
    );
  }

  get(taskId: string): Promise<ApiAnswer> {
    return this.send('GET', `/v1/tasks/${taskId}`);
  }

  /** Polls until a task satisfies the condition. @throws {Error} it never does; with the last response. */
  async waitFor(taskId: string, condition: (task: ApiTask) => boolean): Promise<ApiTask> {
    let answer = await this.get(taskId);
    const isSo = (): boolean => answer.status === 200 && condition(answer.body.data);
    await waitFor(
      () => `another ${taskId} than ${JSON.stringify(answer.body)}`,
      async () => {
        if (isSo()) return true;
        answer = await this.get(taskId);
        return isSo();
      },
    );
    return answer.body.data;
  }

  /** Polls until a task has ended. */
  waitForTerminal(taskId: string): Promise<ApiTask> {
    return this.waitFor(taskId, (task) => task.status === 'success' || task.status === 'fail');
  }
}
