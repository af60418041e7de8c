/** The service as an outside client sees it: through the TLS proxy, whose authority is the only trusted one. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { LookupFunction } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { connect } from 'node:tls';
import { Agent, FormData, request } from 'undici';

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
  readonly output?: readonly {
    readonly url: string;
    readonly mimeType: string;
    readonly sizeBytes: number;
    readonly sha256: string;
  }[];
  readonly callback?: { readonly state: string };
}

/** What a request sends besides its path. */
export interface Sent {
  /** JSON, or what is sent as it is. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A response as it arrived. */
export interface Pieces {
  readonly text: string;
  readonly pieces: number;
}

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

const TASK_TIMEOUT_MS = 10 * 60_000;
/** How long a service may be away while a client repeats its request. */
const AWAY_TIMEOUT_MS = 5 * 60_000;
const REPEAT_AFTER_MS = 500;
const TOO_MANY_REQUESTS = 429;
/** How long a read waits for a change of its task. */
const WAIT_SECONDS = 20;

export class ContainerClient {
  readonly #origin: string;
  readonly #authority: string;
  readonly #agent: Agent;
  key = '';

  /**
   * @param authority the certificate that signs the proxy's, in PEM. @param address where the name of the origin leads,
   * if no resolver knows it.
   */
  constructor(origin: string, authority: string, address?: string) {
    this.#origin = origin;
    this.#authority = authority;
    this.#agent = new Agent({
      connect: { ca: authority, ...(address === undefined ? {} : { lookup: resolveTo(address) }) },
    });
  }

  async send(method: Method, path: string, sent: Sent = {}): Promise<Answer> {
    const answer = await this.#request(method, path, sent);
    const bytes = Buffer.from(await answer.body.arrayBuffer());
    return { status: answer.statusCode, headers: answer.headers, text: bytes.toString('utf8'), bytes };
  }

  /** With the key. @throws {Error} the answer's status is not 200. */
  async ask(method: Method, path: string, body?: unknown): Promise<unknown> {
    return JSON.parse((await this.askBytes(method, path, { body })).text) as unknown;
  }

  /** With the key, and for an answer that is not JSON. @throws {Error} the answer's status is not 200. */
  async askBytes(method: Method, path: string, { body, headers = {} }: Sent = {}): Promise<Answer> {
    const answer = await this.send(method, path, { body, headers: { ...this.#authorized(), ...headers } });
    assert.equal(answer.status, 200, `${method} ${path}: ${answer.status} ${answer.text.slice(0, 2_000)}`);
    return answer;
  }

  /** Posts with the key, and reads a response that is sent in pieces. */
  async stream(path: string, body: unknown): Promise<Pieces> {
    const answer = await this.#request('POST', path, { body, headers: this.#authorized() });
    const pieces: Buffer[] = [];
    for await (const piece of answer.body) pieces.push(piece as Buffer);
    const text = Buffer.concat(pieces).toString('utf8');
    assert.equal(answer.statusCode, 200, `POST ${path}: ${answer.statusCode} ${text.slice(0, 2_000)}`);
    return { text, pieces: pieces.length };
  }

  /** Uploads a file in the form of OpenAI's API. @returns its id. */
  async upload(purpose: string, content: Buffer, name: string): Promise<string> {
    const form = new FormData();
    form.append('purpose', purpose);
    form.append('file', new Blob([new Uint8Array(content)]), name);
    return (JSON.parse((await this.askBytes('POST', '/v1/files', { body: form })).text) as { id: string }).id;
  }

  /**
   * Creates a task without waiting for its end, as a careful client does: with an idempotency key, and again until
   * there is an answer, while connections fail, the service is unavailable, or the rate limit is exceeded.
   */
  async createPatiently(body: unknown, idempotencyKey: string): Promise<ContainerTask> {
    const headers = { ...this.#authorized(0), 'idempotency-key': idempotencyKey };
    const answer = await this.#untilAnswered(() => this.send('POST', '/v1/tasks', { body, headers }));
    assert.equal(answer.status, 200, `POST /v1/tasks: ${answer.status} ${answer.text}`);
    return (JSON.parse(answer.text) as { data: ContainerTask }).data;
  }

  /** Reads a task, again until there is an answer. */
  async readPatiently(taskId: string, waitSeconds = WAIT_SECONDS): Promise<ContainerTask> {
    const headers = this.#authorized(waitSeconds);
    const answer = await this.#untilAnswered(() => this.send('GET', `/v1/tasks/${taskId}`, { headers }));
    assert.equal(answer.status, 200, `GET /v1/tasks/${taskId}: ${answer.status} ${answer.text}`);
    return (JSON.parse(answer.text) as { data: ContainerTask }).data;
  }

  /** Creates a task and waits for its success, and for the bytes of its outputs. */
  async makeMedia(body: Readonly<Record<string, unknown>>): Promise<ContainerTask> {
    const { data: created } = (await this.ask('POST', '/v1/tasks', body)) as { data: ContainerTask };
    const task = await this.waitFor(created.taskId, ({ status }) => status === 'success' || status === 'fail');
    await this.download(task);
    return task;
  }

  /** The bytes of the first output of a task that succeeded, by its signed URL, without the key. */
  async download(task: ContainerTask): Promise<Buffer> {
    assert.equal(task.status, 'success', JSON.stringify(task));
    const [output] = task.output ?? [];
    assert.ok(output !== undefined, 'a task without an output');
    const { status, bytes } = await this.send('GET', output.url);
    assert.equal(status, 200);
    assert.equal(bytes.length, output.sizeBytes);
    assert.equal(createHash('sha256').update(bytes).digest('hex'), output.sha256);
    return bytes;
  }

  /** Reads something, again until it meets the condition. */
  async readUntil<T>(path: string, isSo: (value: T) => boolean): Promise<T> {
    const deadline = Date.now() + TASK_TIMEOUT_MS;
    for (;;) {
      const value = (await this.ask('GET', path)) as T;
      if (isSo(value)) return value;
      assert.ok(Date.now() < deadline, `it never is as it should be: ${JSON.stringify(value)}`);
      await delay(REPEAT_AFTER_MS);
    }
  }

  /** Reads a task, each time waiting for a change, until it meets the condition. */
  async waitFor(
    taskId: string,
    isSo: (task: ContainerTask) => boolean,
    waitSeconds = WAIT_SECONDS,
  ): Promise<ContainerTask> {
    const deadline = Date.now() + TASK_TIMEOUT_MS;
    for (;;) {
      const data = await this.readPatiently(taskId, waitSeconds);
      if (isSo(data)) return data;
      assert.ok(Date.now() < deadline, `a task that never is as it should be: ${JSON.stringify(data)}`);
    }
  }

  /** Waits until the proxy and the api behind it say that they are ready. */
  async waitForReady(): Promise<void> {
    const { status, text } = await this.#untilAnswered(() => this.send('GET', '/readyz'));
    assert.equal(status, 200, text);
  }

  /** The SHA-256 of the proxy's public key (SPKI) in base64, of a connection whose certificate was verified. */
  async keyOfServer(): Promise<string> {
    const { hostname, port } = new URL(this.#origin);
    const socket = connect({ host: hostname, port: Number(port), ca: this.#authority, servername: hostname });
    try {
      await once(socket, 'secureConnect');
      const certificate = socket.getPeerX509Certificate();
      assert.ok(certificate !== undefined);
      const key = certificate.publicKey.export({ type: 'spki', format: 'der' });
      return createHash('sha256').update(key).digest('base64');
    } finally {
      socket.destroy();
    }
  }

  close(): Promise<void> {
    return this.#agent.close();
  }

  #authorized(waitSeconds = WAIT_SECONDS): Record<string, string> {
    const authorization = `Bearer ${this.key}`;
    return waitSeconds === 0 ? { authorization } : { authorization, prefer: `wait=${waitSeconds}` };
  }

  #request(method: Method, path: string, { body, headers = {} }: Sent) {
    const isRaw = body === undefined || body instanceof FormData || Buffer.isBuffer(body);
    return request(new URL(path, this.#origin), {
      method,
      dispatcher: this.#agent,
      headers: { ...(isRaw ? {} : { 'content-type': 'application/json' }), ...headers },
      body: isRaw ? (body ?? null) : JSON.stringify(body),
    });
  }

  async #untilAnswered(send: () => Promise<Answer>): Promise<Answer> {
    const deadline = Date.now() + AWAY_TIMEOUT_MS;
    for (;;) {
      const answer = await send().catch((error: unknown) => {
        if (Date.now() > deadline) throw error;
        return undefined;
      });
      if (answer !== undefined && (!shouldRepeat(answer) || Date.now() > deadline)) return answer;
      await delay(answer === undefined ? REPEAT_AFTER_MS : repeatAfterMs(answer));
    }
  }
}

function resolveTo(address: string): LookupFunction {
  return (_name, { all }, done) => {
    if (all === true) done(null, [{ address, family: 4 }]);
    else done(null, address, 4);
  };
}

function shouldRepeat({ status }: Answer): boolean {
  return status >= 500 || status === TOO_MANY_REQUESTS;
}

/** What the service asks for, or a short while. */
function repeatAfterMs({ headers }: Answer): number {
  const seconds = Number(headers['retry-after']);
  return Number.isFinite(seconds) ? seconds * 1000 : REPEAT_AFTER_MS;
}
