/** How a text answer is sent: with comments during silence (contract §4, §9). */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, get } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, it, mock } from 'node:test';
import type { ParameterizedContext } from 'koa';
import type { HttpContext, RequestState } from '../../src/http/app/context.ts';
import { answerTextCall, sendTextStream } from '../../src/http/text/call.ts';
import { waitFor } from '@darkroom/testing/wait-for';

let server: Server | undefined;
afterEach(() => {
  mock.restoreAll();
  server?.closeAllConnections();
  server?.close();
});

/** An interval on the test's own clock: Node's mock timers do not support `refresh`. */
class Interval {
  readonly #run: () => void;
  readonly #period: number;
  #elapsed = 0;

  constructor(run: () => void, period: number) {
    this.#run = run;
    this.#period = period;
  }

  refresh(): this {
    this.#elapsed = 0;
    return this;
  }

  pass(milliseconds: number): void {
    for (this.#elapsed += milliseconds; this.#elapsed >= this.#period; this.#elapsed -= this.#period) this.#run();
  }
}

/** Sends these frames, and returns the response as soon as it starts. */
async function sent(frames: AsyncIterable<string>): Promise<{ answer: IncomingMessage; text: () => string }> {
  server = createServer((_, res) => {
    void sendTextStream({ res } as unknown as ParameterizedContext<RequestState>, frames);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const [answer] = (await once(get({ port, host: '127.0.0.1', agent: false }), 'response')) as [IncomingMessage];
  let text = '';
  answer.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  return { answer, text: () => text };
}

describe('a text call whose client disconnects before the response', () => {
  it('is aborted immediately', async () => {
    const gone = new Promise<unknown>((resolve, reject) => {
      server = createServer((request, res) => {
        const http = {
          openResponses: { register: () => () => {} },
          stopSignal: new AbortController().signal,
          textAnswers: {
            answer: (_caller: unknown, _ask: unknown, { signal }: AbortController) =>
              Promise.reject(new Error(signal.aborted ? 'given up' : 'answered a client that is gone')),
          },
        } as unknown as HttpContext;
        const call = { ctx: { res, headerSent: true }, caller: {} } as unknown as Parameters<typeof answerTextCall>[1];
        res.once('close', () => {
          setImmediate(() => {
            void answerTextCall(http, call, {} as Parameters<typeof answerTextCall>[2]).then(reject, resolve);
          });
        });
        request.socket.destroy();
      }).listen(0, '127.0.0.1');
    });
    assert.ok(server !== undefined);
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    get({ port, host: '127.0.0.1', agent: false }).on('error', () => {});

    assert.equal(String(await gone), 'Error: given up');
  });
});

describe('an open text response', () => {
  // Proves C4-18.
  it('sends a comment after 15 s of silence, and not before', async () => {
    const intervals: Interval[] = [];
    mock.method(globalThis, 'setInterval', (run: () => void, period: number) => {
      const interval = new Interval(run, period);
      intervals.push(interval);
      return interval;
    });
    const releases: (() => void)[] = [];
    const silence = (): Promise<void> => new Promise((resolve) => releases.push(resolve));
    const { answer, text } = await sent(
      (async function* () {
        for (const word of ['one', 'two', 'three']) {
          yield `data: ${word}\n\n`;
          await silence();
        }
        yield 'data: [DONE]\n\n';
      })(),
    );
    /** Lets some time pass after an event, and then sends the next one. */
    const after = async (word: string, milliseconds: number, count: number): Promise<void> => {
      await waitFor(`${word} is there`, () => text().endsWith(`data: ${word}\n\n`) && releases.length === count);
      assert.equal(intervals.length, 1);
      intervals[0]?.pass(milliseconds);
      releases[count - 1]?.();
    };
    // Each event resets the interval.
    await after('one', 14_000, 1);
    await after('two', 14_000, 2);
    await after('three', 15_000, 3);
    await once(answer, 'end');

    assert.equal(text(), 'data: one\n\ndata: two\n\ndata: three\n\n: keep-alive\n\ndata: [DONE]\n\n');
  });
});
