/** The service as an outside client sees it: through the TLS proxy, whose authority is the only trusted one. */
import assert from 'node:assert/strict';
import { Agent, request } from 'undici';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  readonly bytes: Buffer;
}

export interface ContainerTask {
  readonly taskId: string;
  readonly status: string;
  readonly error?: unknown;
  readonly output?: readonly { readonly url: string; readonly mimeType: string; readonly sizeBytes: number }[];
  readonly callback?: { readonly state: string };
}

const TASK_TIMEOUT_MS = 5 * 60_000;

export class ContainerClient {
  readonly #origin: string;
  readonly #agent: Agent;
  key = '';

  /** @param authority the certificate that signs the proxy's, in PEM. */
  constructor(origin: string, authority: string) {
    this.#origin = origin;
    this.#agent = new Agent({ connect: { ca: authority } });
  }

  async send(
    method: 'GET' | 'POST' | 'PUT',
    path: string,
    { body, headers = {} }: { readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> } = {},
  ): Promise<Answer> {
    const answer = await request(new URL(path, this.#origin), {
      method,
      dispatcher: this.#agent,
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const bytes = Buffer.from(await answer.body.arrayBuffer());
    return { status: answer.statusCode, headers: answer.headers, text: bytes.toString('utf8'), bytes };
  }

  /** With the key. @throws {Error} the answer's status is not 200. */
  async ask(method: 'GET' | 'POST' | 'PUT', path: string, body?: unknown): Promise<unknown> {
    const headers = { authorization: `Bearer ${this.key}`, prefer: 'wait=20' };
    const answer = await this.send(method, path, { body, headers });
    assert.equal(answer.status, 200, `${method} ${path}: ${answer.status} ${answer.text}`);
    return JSON.parse(answer.text) as unknown;
  }

  /** Creates a task and waits for its success, and for the bytes of its outputs. */
  async makeMedia(body: Readonly<Record<string, unknown>>): Promise<ContainerTask> {
    const { data: created } = (await this.ask('POST', '/v1/tasks', body)) as { data: ContainerTask };
    const task = await this.waitFor(created.taskId, ({ status }) => status === 'success' || status === 'fail');
    assert.equal(task.status, 'success', JSON.stringify(task));
    const [output] = task.output ?? [];
    assert.ok(output !== undefined, 'a task without an output');
    const { status, bytes } = await this.send('GET', output.url);
    assert.equal(status, 200);
    assert.equal(bytes.length, output.sizeBytes);
    return task;
  }

  /** Reads a task, each time waiting for a change, until it meets the condition. */
  async waitFor(taskId: string, isSo: (task: ContainerTask) => boolean): Promise<ContainerTask> {
    const deadline = Date.now() + TASK_TIMEOUT_MS;
    for (;;) {
      const { data } = (await this.ask('GET', `/v1/tasks/${taskId}`)) as { data: ContainerTask };
      if (isSo(data)) return data;
      assert.ok(Date.now() < deadline, `a task that never is as it should be: ${JSON.stringify(data)}`);
    }
  }

  close(): Promise<void> {
    return this.#agent.close();
  }
}
