/**
 * A minimal HTTP client for measuring: one keep-alive connection, one request at a time, responses with a
 * Content-Length. A full client costs more than the server it measures, on the cores that both share.
 */
import { createConnection } from 'node:net';
import type { Socket } from 'node:net';

export interface HttpAnswer {
  readonly status: number;
  readonly body: string;
}

interface Waiting {
  resolve(answer: HttpAnswer): void;
  reject(error: Error): void;
}

const HEAD_END = '\r\n\r\n';

export class KeepAliveConnection {
  readonly #socket: Socket;
  #isClosed = false;
  #received: Buffer = Buffer.alloc(0);
  #waiting: Waiting | undefined;

  constructor(port: number, host = '127.0.0.1') {
    this.#socket = createConnection({ port, host, noDelay: true });
    this.#socket.on('data', (chunk) => this.#take(chunk));
    this.#socket.on('error', (error) => this.#fail(error));
    this.#socket.on('close', () => {
      this.#isClosed = true;
      this.#fail(new Error('the server closed the connection'));
    });
  }

  /** Whether the server has closed it, as it does with a connection that was idle for a minute. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** @param text a whole request, head and body. */
  request(text: string): Promise<HttpAnswer> {
    if (this.#waiting !== undefined) throw new Error('one request at a time');
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.#socket.write(text);
    });
  }

  /** Closes it; no request may be pending. */
  end(): void {
    this.#socket.end();
  }

  #take(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const headEnd = this.#received.indexOf(HEAD_END);
    if (headEnd < 0) return;
    const head = this.#received.toString('latin1', 0, headEnd);
    const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
    if (length === undefined) return this.#fail(new Error(`an answer without Content-Length:\n${head}`));
    const end = headEnd + HEAD_END.length + Number(length);
    if (this.#received.length < end) return;
    const body = this.#received.toString('utf8', headEnd + HEAD_END.length, end);
    this.#received = this.#received.subarray(end);
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.resolve({ status: Number(head.slice(9, 12)), body });
  }

  #fail(error: Error): void {
    this.#waiting?.reject(error);
    this.#waiting = undefined;
  }
}
