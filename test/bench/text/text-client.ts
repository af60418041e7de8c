/**
 * A minimal client for measuring text calls: one keep-alive connection, one call at a time, whose response has a
 * Content-Length or is chunked. It records when the first event came, and how many.
 */
import { createConnection } from 'node:net';
import type { Socket } from 'node:net';

export interface TextCallFacts {
  /** From the request to the first byte of the response body, in milliseconds. */
  readonly firstByteMs: number;
  /** The number of `data:` lines; 0 if the response was not streamed. */
  readonly events: number;
}

interface Call {
  readonly begunAt: number;
  readonly resolve: (facts: TextCallFacts) => void;
  readonly reject: (error: Error) => void;
  text: string;
  firstByteMs: number | undefined;
}

export class TextClient {
  readonly #socket: Socket;
  #call: Call | undefined;

  constructor(port: number) {
    this.#socket = createConnection({ port, host: '127.0.0.1', noDelay: true });
    this.#socket.setEncoding('latin1').on('data', (text: string) => this.#take(text));
    this.#socket.on('error', (error) => this.#call?.reject(error));
    this.#socket.on('close', () => this.#call?.reject(new Error('the server closed the connection')));
  }

  /** @param text a whole request, head and body. @throws {Error} the status is not 200. */
  call(text: string): Promise<TextCallFacts> {
    return new Promise((resolve, reject) => {
      this.#call = { begunAt: performance.now(), resolve, reject, text: '', firstByteMs: undefined };
      this.#socket.write(text);
    });
  }

  close(): void {
    this.#call = undefined;
    this.#socket.destroy();
  }

  #take(text: string): void {
    const call = this.#call;
    if (call === undefined) return;
    call.text += text;
    const headEnd = call.text.indexOf('\r\n\r\n');
    if (headEnd < 0 || call.text.length === headEnd + 4) return;
    call.firstByteMs ??= performance.now() - call.begunAt;
    if (!isOver(call.text, headEnd)) return;
    this.#call = undefined;
    if (!call.text.startsWith('HTTP/1.1 200')) call.reject(new Error(call.text.slice(0, 1_000)));
    else call.resolve({ firstByteMs: call.firstByteMs, events: call.text.split('data: ').length - 1 });
  }
}

function isOver(text: string, headEnd: number): boolean {
  const length = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, headEnd))?.[1];
  return length === undefined ? text.endsWith('\r\n0\r\n\r\n') : text.length >= headEnd + 4 + Number(length);
}
