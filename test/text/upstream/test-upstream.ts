/**
 * An OpenAI-compatible server for tests: a real one on a real socket. It answers chat completions and responses,
 * streamed and not, correctly, or with the misbehaviour in its script. It records what it received, and when the
 * client disconnected.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { waitFor } from '@darkroom/testing/wait-for';
import { HELLO, chatChunks, chatCompletion, messageItem, response, responseEvents } from './scripted-answers.ts';
import type { Json, Reply } from './scripted-answers.ts';

/** One response. Everything is optional: by default it is as requested, and well-formed. */
export interface Behaviour {
  readonly reply?: Reply;
  /** Instead of a normal response: the status, with this body. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Instead of a normal response: this text, or this JSON. */
  readonly body?: unknown;
  /** Instead of the reply's events. A text is sent unchanged after `data:`. */
  readonly events?: readonly unknown[];
  /** Instead of events: these bytes. */
  readonly bytes?: Buffer;
  /** Nothing is sent; or nothing more after the head, or after this many events. */
  readonly silentAfter?: 'request' | 'head' | number;
  /** The connection is reset after this many events, or before anything is sent. */
  readonly breaksAfter?: 'request' | number;
  /** The response ends in order after this many events. */
  readonly endsAfter?: number;
  /** An error event comes after this many events, instead of the rest. */
  readonly errorAfter?: number;
  readonly withoutUsage?: boolean;
  readonly usageOnEvery?: boolean;
  readonly withoutDone?: boolean;
  readonly lineEnd?: '\n' | '\r\n' | '\r';
  /** A comment precedes each event. */
  readonly comments?: boolean;
  readonly reasoningField?: 'reasoning' | 'reasoning_content';
  /** Awaited before each event. */
  readonly pace?: (index: number) => Promise<void>;
}

export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Json;
  /** The client's port: the same port means the same connection. */
  readonly clientPort: number;
  /** The client disconnected before the response was complete. */
  isGone: boolean;
  /** The response has been written completely. */
  isAnswered: boolean;
  /** Bytes of the response that the connection has accepted. */
  written: number;
}

export interface TestUpstream {
  /** With `/v1`. */
  readonly baseUrl: string;
  readonly host: string;
  readonly requests: readonly Received[];
  /** The responses to the next requests, one after the other; the last one is used for all that follow. */
  script(...behaviours: readonly Behaviour[]): void;
  /** Waits until the client of a request has disconnected. */
  gone(index?: number): Promise<void>;
  close(): Promise<void>;
}

export async function startTestUpstream(): Promise<TestUpstream> {
  const requests: Received[] = [];
  let behaviours: readonly Behaviour[] = [{}];
  const server = createServer((incoming, outgoing) => {
    void (async () => {
      const received = await receive(incoming, outgoing);
      requests.push(received);
      const [behaviour = {}, ...rest] = behaviours;
      if (rest.length > 0) behaviours = rest;
      await answer(behaviour, received, outgoing);
    })();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    host: `127.0.0.1:${port}`,
    requests,
    script(...scripted) {
      behaviours = scripted;
    },
    gone: (index = 0) => waitFor('the upstream’s client has gone', () => requests[index]?.isGone === true),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function receive(incoming: IncomingMessage, outgoing: ServerResponse): Promise<Received> {
  const chunks: Buffer[] = [];
  const received: Received = {
    path: incoming.url ?? '',
    headers: incoming.headers,
    body: {},
    clientPort: incoming.socket.remotePort ?? 0,
    isGone: false,
    isAnswered: false,
    written: 0,
  };
  outgoing.once('close', () => {
    received.isGone = !outgoing.writableFinished;
    received.isAnswered = outgoing.writableFinished;
  });
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Object.assign(received, { body: JSON.parse(Buffer.concat(chunks).toString('utf8')) as Json });
}

async function answer(behaviour: Behaviour, received: Received, outgoing: ServerResponse): Promise<void> {
  const { status = 200, headers = {} } = behaviour;
  if (behaviour.silentAfter === 'request') return;
  if (behaviour.breaksAfter === 'request') return void outgoing.destroy();
  const isStreamed = received.body['stream'] === true && status === 200;
  if ('body' in behaviour || !isStreamed) {
    const text = typeof behaviour.body === 'string' ? behaviour.body : JSON.stringify(wholeAnswer(behaviour, received));
    outgoing.writeHead(status, { 'content-type': 'application/json', ...headers });
    if (behaviour.silentAfter === 'head') return void outgoing.write(text.slice(0, 1));
    if (behaviour.breaksAfter !== undefined) return void outgoing.write(text.slice(0, 9), () => outgoing.destroy());
    outgoing.end(text);
    return;
  }
  outgoing.writeHead(status, { 'content-type': 'text/event-stream; charset=utf-8', ...headers });
  outgoing.flushHeaders();
  if (behaviour.silentAfter === 'head') return;
  if (behaviour.bytes === undefined) await stream(behaviour, received, outgoing);
  else {
    if (behaviour.bytes.length > 0) await write(outgoing, received, behaviour.bytes);
    outgoing.end();
  }
}

function wholeAnswer(behaviour: Behaviour, { path, body }: Received): unknown {
  if ('body' in behaviour) return behaviour.body;
  const reply = replyOf(behaviour);
  if (!path.includes('/responses')) return chatCompletion(reply, { ...behaviour, n: choicesOf(body) });
  const status = reply.finish === 'length' ? 'incomplete' : 'completed';
  return response(status, [messageItem((reply.text ?? []).join(''))], reply);
}

function replyOf({ reply = HELLO, withoutUsage = false }: Behaviour): Reply {
  if (!withoutUsage) return reply;
  const { usage: _, ...rest } = reply;
  return rest;
}

function choicesOf(body: Json): number {
  return typeof body['n'] === 'number' ? body['n'] : 1;
}

/** The bytes of a well-formed stream: the basis for `bytes`. */
export function streamBytes(behaviour: Behaviour, events: readonly unknown[]): Buffer {
  return Buffer.from(events.map((event) => frame(behaviour, event)).join(''));
}

function eventsOf(behaviour: Behaviour, { path, body }: Received): readonly unknown[] {
  if (behaviour.events !== undefined) return behaviour.events;
  const reply = replyOf(behaviour);
  if (path.includes('/responses')) return responseEvents(reply);
  const options = body['stream_options'] as { include_usage?: boolean } | undefined;
  const includesUsage = options?.include_usage === true;
  return [
    ...chatChunks(reply, { ...behaviour, n: choicesOf(body), includesUsage }),
    ...(behaviour.withoutDone === true ? [] : ['[DONE]']),
  ];
}

async function stream(behaviour: Behaviour, received: Received, outgoing: ServerResponse): Promise<void> {
  const events = eventsOf(behaviour, received);
  for (const [index, event] of events.entries()) {
    if (index === behaviour.silentAfter) return;
    if (index === behaviour.endsAfter) break;
    if (index === behaviour.breaksAfter) return void outgoing.destroy();
    await behaviour.pace?.(index);
    const isError = index === behaviour.errorAfter;
    const said = isError
      ? { error: { message: 'secret-host.internal ran out of memory', type: 'server_error', code: 500 } }
      : event;
    if (received.isGone) return;
    await write(outgoing, received, Buffer.from(frame(behaviour, said)));
    if (isError) break;
  }
  outgoing.end();
}

function frame({ lineEnd = '\n', comments = false }: Behaviour, event: unknown): string {
  const data = typeof event === 'string' ? event : JSON.stringify(event);
  const type = typeof event === 'object' && event !== null && 'type' in event ? String(event.type) : undefined;
  const lines = [
    ...(comments ? [': still working', ''] : []),
    ...(type === undefined ? [] : [`event: ${type}`]),
    `data: ${data}`,
    '',
  ];
  return lines.map((line) => `${line}${lineEnd}`).join('');
}

/** Waits until the connection has accepted it: a server with a slow reader stops here. */
async function write(outgoing: ServerResponse, received: Received, piece: Buffer): Promise<void> {
  if (outgoing.destroyed) return;
  await new Promise<void>((resolve) => {
    outgoing.once('close', resolve);
    outgoing.write(piece, () => {
      outgoing.off('close', resolve);
      resolve();
    });
  });
  received.written += piece.length;
}
