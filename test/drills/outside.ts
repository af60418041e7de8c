/** What an installation depends on outside: a provider of text, one whose key can be rejected, a receiver of callbacks. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

export interface Outside {
  /** `http://127.0.0.1:<port>`: `/text/v1` is the provider of text, `/callbacks` the receiver. */
  readonly url: string;
  /** Whether text and callbacks are answered with 500. */
  isFailing: boolean;
  /** Whether the provider behind it is not asked, because the key is not accepted. */
  rejectsKey: boolean;
  stop(): void;
}

/** @param provider the URL of the test provider, which answers everything else. */
export async function startOutside(provider: string): Promise<Outside> {
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const outside: Outside = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    isFailing: false,
    rejectsKey: false,
    stop() {
      server.close();
      server.closeAllConnections();
    },
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', url = '/', headers } = request;
    const body = await buffer(request);
    if (url.startsWith('/text/') || url.startsWith('/callbacks')) {
      if (outside.isFailing) response.writeHead(500).end();
      else if (url.startsWith('/callbacks')) response.writeHead(204).end();
      else response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(COMPLETION));
      return;
    }
    if (outside.rejectsKey) {
      response.writeHead(401, { 'Content-Type': 'application/json' }).end('{"error":"the key is not accepted"}');
      return;
    }
    const onward = await fetch(`${provider}${url}`, {
      method,
      headers: Object.fromEntries(
        FORWARDED.flatMap((name) => (typeof headers[name] === 'string' ? [[name, headers[name]]] : [])),
      ),
      ...(method === 'GET' ? {} : { body: new Uint8Array(body) }),
    });
    response.writeHead(onward.status, { 'Content-Type': onward.headers.get('content-type') ?? '' });
    response.end(Buffer.from(await onward.arrayBuffer()));
  }
  return outside;
}

const FORWARDED = ['authorization', 'content-type', 'idempotency-key'];
const COMPLETION = {
  id: 'chat-1',
  object: 'chat.completion',
  created: 1_763_683_200,
  model: 'words',
  choices: [{ index: 0, message: { role: 'assistant', content: 'a few words' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 },
};
