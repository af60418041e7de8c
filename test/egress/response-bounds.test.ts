/** Files that arrive too slowly: limits small enough to be reached, on real connections. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { PACE } from '../../src/egress/response-bounds.ts';
import type { Pace } from '../../src/egress/response-bounds.ts';
import { createUpstreamDownload } from '../../src/providers/upstream-download.ts';
import { letPass } from '../support/let-pass.ts';
import { AMPLE_MS, egressOf, failsWith, listen } from './loopback.ts';

/** Never reached. */
const PATIENT: Pace = { answerMs: AMPLE_MS, silentMs: AMPLE_MS, graceMs: AMPLE_MS, leastBytesPerSecond: 1 };
const DRIP_MS = 20;

/** One byte after another, until the client disconnects. */
function drip(response: ServerResponse): void {
  const timer = setInterval(() => response.write('x'), DRIP_MS);
  response.once('close', () => clearInterval(timer));
}

describe('the minimum rate of a download', () => {
  const bound = { accountId: 'ac-1', timeoutMs: AMPLE_MS, maxBytes: 100_000_000 };

  it('ends a body that is too slow, and closes its connection', async (t) => {
    const closed: Promise<void>[] = [];
    const store = await listen(t, (_request, response) => {
      closed.push(new Promise((resolve) => response.once('close', () => resolve())));
      drip(response);
    });
    const url = `http://127.0.0.1:${store.port}/`;
    const pace = { ...PATIENT, graceMs: 300, leastBytesPerSecond: PACE.leastBytesPerSecond };
    const { egress } = egressOf(t, [`http://127.0.0.1:${store.port}`], { pace });

    await failsWith(
      'timeout',
      egress.download(url, bound).then(({ body }) => buffer(body)),
    );
    await Promise.all(closed);
    assert.equal(closed.length, 1);
  });

  it('ends a body that stalls, before its first byte too', async (t) => {
    const store = await listen(t, (request, response) => {
      response.flushHeaders();
      if (request.url === '/begun') response.write('x');
    });
    const { egress } = egressOf(t, [`http://127.0.0.1:${store.port}`], { pace: { ...PATIENT, silentMs: 300 } });

    for (const path of ['/begun', '/empty']) {
      const file = await egress.download(`http://127.0.0.1:${store.port}${path}`, bound);
      await failsWith('timeout', buffer(file.body));
    }
  });

  it('applies to response headers, also after a redirect', async (t) => {
    const store = await listen(t, (request, response) => {
      if (request.url === '/moved') response.writeHead(302, { location: '/never' }).end();
    });
    const { egress } = egressOf(t, [`http://127.0.0.1:${store.port}`], { pace: { ...PATIENT, answerMs: 300 } });

    for (const path of ['/never', '/moved']) {
      await failsWith('timeout', egress.download(`http://127.0.0.1:${store.port}${path}`, bound));
    }
  });

  it('allows a body that is fast enough', async (t) => {
    const content = 'x'.repeat(20);
    const store = await listen(t, (_request, response) => {
      drip(response);
      void letPass(DRIP_MS * content.length).then(() => response.end());
    });
    const pace = { ...PATIENT, graceMs: 0, leastBytesPerSecond: 0.1 };
    const { egress } = egressOf(t, [`http://127.0.0.1:${store.port}`], { pace });

    const file = await egress.download(`http://127.0.0.1:${store.port}/`, bound);
    assert.match((await buffer(file.body)).toString(), /^x+$/);
  });

  it('does not count time in which the reader is slow', async (t) => {
    const content = Buffer.alloc(8_000_000, 'x');
    const store = await listen(t, (_request, response) => response.end(content));
    // The reader pauses for longer than a sender may be silent, and the file would be far below its average.
    const pace = { ...PATIENT, silentMs: 2_000, graceMs: 2_000, leastBytesPerSecond: 10_000_000 };
    const { egress } = egressOf(t, [`http://127.0.0.1:${store.port}`], { pace });

    const { body } = await egress.download(`http://127.0.0.1:${store.port}/`, bound);
    let received = 0;
    for await (const piece of body) {
      if (received === 0) await letPass(3_000);
      received += (piece as Buffer).length;
    }
    assert.equal(received, content.length);
  });

  it('applies to an upstream’s own files as well', async (t) => {
    const upstream = await listen(t, (request, response) => {
      if (request.url !== '/never') response.write('x');
      if (request.url === '/drips') drip(response);
    });
    const call = { ...bound, signal: new AbortController().signal };
    const slow = { ...PATIENT, graceMs: 300, leastBytesPerSecond: PACE.leastBytesPerSecond };
    for (const [path, pace] of [
      ['/never', { ...PATIENT, answerMs: 300 }],
      ['/stalls', { ...PATIENT, silentMs: 300 }],
      ['/drips', slow],
    ] as const) {
      const download = createUpstreamDownload(pace);
      const url = new URL(`http://127.0.0.1:${upstream.port}${path}`);
      const reading = download(url, {}, call).then((file) => {
        assert.ok(file.from === 'upstream');
        return buffer(file.body);
      });
      await failsWith('timeout', reading);
    }
  });
});
