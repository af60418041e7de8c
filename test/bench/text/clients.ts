/**
 * The clients of the text bench, in a process of their own: windows of calls, one after the other on each connection.
 * It receives its orders over its channel.
 */
import { median } from '../measures.ts';
import { TextClient } from './text-client.ts';

/** An order. */
export interface TextOrder {
  readonly port: number;
  readonly apiKey: string;
  readonly model: string;
  readonly isStreamed: boolean;
  readonly clients: number;
  /** A window ends with the first of these to be reached. */
  readonly seconds?: number;
  readonly calls?: number;
}

/** The result. */
export interface TextWindow {
  readonly calls: number;
  readonly perSecond: number;
  readonly firstByteMs: number;
}

const EVENTS_OF_A_STREAM = 50;

async function runWindow(order: TextOrder): Promise<TextWindow> {
  const { port, apiKey, model, isStreamed, clients, seconds = Infinity, calls: most = Infinity } = order;
  const body = JSON.stringify({
    model,
    messages: [
      { role: 'system', content: 'You are a helpful assistant.' },
      { role: 'user', content: 'Say fifty words about the sea.' },
    ],
    max_tokens: 200,
    ...(isStreamed ? { stream: true } : {}),
  });
  const request = [
    'POST /v1/chat/completions HTTP/1.1',
    `Host: 127.0.0.1:${port}`,
    `Authorization: Bearer ${apiKey}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n');
  const firstBytes: number[] = [];
  let begunCalls = 0;
  const begin = performance.now();
  const end = begin + seconds * 1_000;
  const run = async (): Promise<void> => {
    const client = new TextClient(port);
    while (performance.now() < end && begunCalls < most) {
      begunCalls += 1;
      const { firstByteMs, events } = await client.call(request);
      if (isStreamed && events < EVENTS_OF_A_STREAM) throw new Error(`a stream had ${events} events`);
      firstBytes.push(firstByteMs);
    }
    client.close();
  };
  await Promise.all(Array.from({ length: clients }, run));
  const elapsed = (performance.now() - begin) / 1_000;
  return { calls: firstBytes.length, perSecond: firstBytes.length / elapsed, firstByteMs: median(firstBytes) };
}

process.on('message', (order: TextOrder) => {
  runWindow(order).then(
    (result) => process.send?.({ result }),
    (error: unknown) => process.send?.({ error: error instanceof Error ? error.message : String(error) }),
  );
});
process.once('disconnect', () => process.exit(0));
process.send?.('ready');
