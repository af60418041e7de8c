/**
 * The far end of the text bench: a chat server that responds at once, whole or in fifty pieces. In a process of its
 * own. It reports its port over its channel.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';

const PIECES = 50;
const HEAD = { id: 'chatcmpl-upstream', created: 1_795_000_000, model: 'far' };
const USAGE = { prompt_tokens: 20, completion_tokens: PIECES, total_tokens: 20 + PIECES };

const whole = JSON.stringify({
  ...HEAD,
  object: 'chat.completion',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: 'word '.repeat(PIECES).trim(), refusal: null },
      logprobs: null,
      finish_reason: 'stop',
    },
  ],
  usage: USAGE,
});

const chunk = (delta: object, finish: string | null): string =>
  `data: ${JSON.stringify({ ...HEAD, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const pieces: readonly string[] = [
  chunk({ role: 'assistant', content: '' }, null),
  ...Array.from({ length: PIECES - 2 }, () => chunk({ content: 'word ' }, null)),
  chunk({}, 'stop'),
];
const last = `data: ${JSON.stringify({ ...HEAD, object: 'chat.completion.chunk', choices: [], usage: USAGE })}\n\ndata: [DONE]\n\n`;

const server = createServer({ keepAliveTimeout: 120_000 }, (request, response) => {
  let body = '';
  request.setEncoding('utf8').on('data', (text: string) => {
    body += text;
  });
  request.on('end', () => {
    if (!body.includes('"stream":true')) {
      response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(whole) });
      response.end(whole);
      return;
    }
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    void (async () => {
      for (const piece of pieces) {
        response.write(piece);
        // A model does not send everything at once.
        await nextTurn();
      }
      response.end(last);
    })();
  });
});
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.once('disconnect', () => process.exit(0));
