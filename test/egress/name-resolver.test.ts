/**
 * Names chosen by clients cannot block what others need: not the threads of `dns.lookup`, not the share of another
 * account, not the time or memory of the process. A name server of ours stays silent, is slow, sends far too much, or
 * sends invalid answers.
 */
import assert from 'node:assert/strict';
import { lookup } from 'node:dns/promises';
import { once, setMaxListeners } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, it } from 'node:test';
import { buffer } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import {
  LOOKUPS_AT_ONCE,
  LOOKUPS_PER_ACCOUNT,
  MAX_ADDRESSES,
  WAITING_LOOKUPS,
  createNameResolver,
} from '../../src/egress/name-resolver.ts';
import { ShareExhaustedError } from '../../src/limits/tenant-shares.ts';
import { watchConnects } from './connects.ts';
import { AMPLE_MS, egressOf, failsWith, listen, message } from './loopback.ts';
import { address, startNameServer } from './name-server.ts';
import type { Decide } from './name-server.ts';

const HOSTILE = 'ac-hostile';
const OTHER = 'ac-other';

/** Does not answer for names under silent.test, and answers that every other one is on the loopback. */
const partlySilent: Decide = (name, type) => {
  if (name.endsWith('silent.test')) return 'silence';
  return { answers: type === 'A' ? [address(name, '127.0.0.1')] : [] };
};

const lookupThreadsInUse = (): number =>
  process.getActiveResourcesInfo().filter((resource) => resource === 'GetAddrInfoReqWrap').length;

async function attackWith(test: TestContext, count: number) {
  const receiver = await listen(test, (_request, response) => response.end('a file'));
  const server = await startNameServer(test, partlySilent);
  const { egress } = egressOf(test, [`http://127.0.0.1:${receiver.port}`], { resolve: server.resolve });
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  const posts = Array.from({ length: count }, (_, index) =>
    egress.post(`https://${index}.silent.test/`, message({ accountId: HOSTILE, signal: stop.signal })),
  );
  let ended = 0;
  const over = Promise.allSettled(posts.map((post) => post.finally(() => (ended += 1))));
  return { receiver, server, egress, over, posts, ended: () => ended, stop: () => stop.abort(new Error('stopped')) };
}

const optionsOf = (accountId: string, signal = new AbortController().signal) => ({
  accountId,
  signal,
  mayBeGranted: false,
});

describe('twenty callbacks to names whose server never responds', () => {
  it("delay neither another account's callbacks nor its downloads, nor the names that operators configured", async (t) => {
    const { receiver, server, egress, over, ended, stop } = await attackWith(t, 20);
    while (server.queries.length < 2 * LOOKUPS_PER_ACCOUNT) await new Promise(setImmediate);
    const url = `http://receiver.test:${receiver.port}/`;

    const reply = await egress.post(url, message({ accountId: OTHER }));
    const file = await egress.download(url, { accountId: OTHER, timeoutMs: AMPLE_MS, maxBytes: 100 });
    const content = await buffer(file.body);
    const threads = lookupThreadsInUse();
    const configured = await lookup('localhost');

    assert.equal(reply.status, 200);
    assert.equal(content.toString(), 'a file');
    assert.match(configured.address, /^(?:127\.0\.0\.1|::1)$/);
    assert.equal(threads, 0);
    assert.equal(ended(), 0, 'the attack was still under way');
    stop();
    await over;
  });

  it('all end long before the callback deadline', async (t) => {
    const { posts } = await attackWith(t, 20);

    for (const post of posts) {
      const error = await post.then(
        () => assert.fail('it went through'),
        (failure: unknown) => failure as Error,
      );
      assert.equal(error.name, 'EgressError');
    }
  });
});

describe('the share of an account', () => {
  it('limits its lookups and its waiting ones, and leaves capacity to other accounts', async (t) => {
    const { resolve, queries } = await startNameServer(t, partlySilent);
    const stop = new AbortController();
    setMaxListeners(0, stop.signal);
    const asked = LOOKUPS_PER_ACCOUNT + WAITING_LOOKUPS.perTenant;
    const held = Array.from({ length: asked }, (_, index) =>
      resolve(`${index}.silent.test`, optionsOf(HOSTILE, stop.signal)).catch((error: unknown) => error),
    );

    await assert.rejects(
      resolve('good.test', optionsOf(HOSTILE)),
      (error) => error instanceof ShareExhaustedError && error.by === 'tenant',
    );
    assert.deepEqual(await resolve('good.test', optionsOf(OTHER)), ['127.0.0.1']);
    assert.ok(new Set(queries.filter((query) => query.includes('silent'))).size <= 2 * LOOKUPS_PER_ACCOUNT);

    stop.abort(new Error('stopped'));
    assert.ok((await Promise.all(held)).every((error) => error === stop.signal.reason));
    assert.deepEqual(await resolve('good.test', optionsOf(HOSTILE)), ['127.0.0.1']);
  });

  it('is available to new accounts, however many accounts use theirs and wait for more', async (t) => {
    const { resolve, queries } = await startNameServer(t, partlySilent);
    const stop = new AbortController();
    setMaxListeners(0, stop.signal);
    const accounts = 24;
    const held = Array.from({ length: accounts * 20 }, (_, index) =>
      resolve(`${index}.silent.test`, optionsOf(`${HOSTILE}-${index % accounts}`, stop.signal)).catch(() => undefined),
    );

    // Two queries per lookup; the rest is what an account leaves free.
    while (new Set(queries).size < 2 * (LOOKUPS_AT_ONCE - LOOKUPS_PER_ACCOUNT)) await new Promise(setImmediate);

    assert.deepEqual(await resolve('good.test', optionsOf(OTHER)), ['127.0.0.1']);

    stop.abort(new Error('stopped'));
    await Promise.all(held);
  });
});

describe('a name server', () => {
  const addresses = (count: number): Decide => {
    return (name, type, way) => {
      if (type === 'AAAA') return { answers: [] };
      if (way === 'udp') return { answers: [], isCut: true };
      return {
        answers: Array.from({ length: count }, (_, index) => address(name, `8.8.${index >> 8}.${index & 255}`)),
      };
    };
  };
  const outcomeOf = async (t: TestContext, decide: Decide) => {
    const { resolve } = await startNameServer(t, decide);
    const tried = watchConnects(t);
    const { egress } = egressOf(t, [], { resolve });
    const error = await egress.post('https://name.test/', message()).then(
      () => assert.fail('it went through'),
      (failure: unknown) => failure as Error,
    );
    return { error, tried };
  };

  it('that never responds times out within seconds, whatever time the caller has', async (t) => {
    const { resolve } = await startNameServer(t, () => 'silence');
    const { egress } = egressOf(t, [], { resolve });
    const startedAt = performance.now();

    const error = await failsWith('timeout', egress.post('https://silent.test/', message({ timeoutMs: AMPLE_MS })));

    assert.equal(error.message, 'no name server answered in time');
    assert.ok(performance.now() - startedAt < 20_000);
  });

  it('that responds for IPv4 and never for IPv6 is sufficient', async (t) => {
    const { tried } = await outcomeOf(t, (name, type) =>
      type === 'AAAA' ? 'silence' : { answers: [address(name, '8.8.8.8')] },
    );

    assert.deepEqual(tried, [{ host: '8.8.8.8', port: 443 }]);
  });

  it('that is slow is waited for', async (t) => {
    const { tried } = await outcomeOf(t, async (name, type) => {
      await once(AbortSignal.timeout(300), 'abort');
      return { answers: type === 'A' ? [address(name, '8.8.8.8')] : [] };
    });

    assert.deepEqual(tried, [{ host: '8.8.8.8', port: 443 }]);
  });

  it('that returns exactly the maximum of addresses makes the client try the first ones', async (t) => {
    const { tried } = await outcomeOf(t, addresses(MAX_ADDRESSES));

    assert.equal(tried.length, 3);
  });

  for (const count of [MAX_ADDRESSES + 1, 2_000]) {
    it(`that returns ${count} addresses makes the lookup fail`, async (t) => {
      const { tried, error } = await outcomeOf(t, addresses(count));

      assert.deepEqual(tried, []);
      assert.equal(error.message, 'the address could not be reached');
    });
  }

  it('that returns a circular chain of names makes the lookup fail', async (t) => {
    const { tried, error } = await outcomeOf(t, (name) => ({
      answers: [
        { name, type: 'CNAME', ttl: 0, data: 'other.test' },
        { name: 'other.test', type: 'CNAME', ttl: 0, data: name },
      ],
    }));

    assert.deepEqual(tried, []);
    assert.equal(error.message, 'the address could not be reached');
  });

  const NO_MESSAGES: readonly (readonly [string, Buffer])[] = [
    ['nothing', Buffer.alloc(0)],
    ['noise', Buffer.alloc(1_400, 0xff)],
    ['HTTP', Buffer.from('HTTP/1.1 200 OK\r\n\r\n')],
  ];
  for (const [what, bytes] of NO_MESSAGES) {
    it(`that sends ${what} instead of a response is treated like a silent one`, async (t) => {
      const { tried, error } = await outcomeOf(t, () => bytes);

      assert.deepEqual(tried, []);
      assert.equal(error.name, 'EgressError');
    });
  }

  it('is not queried under a search domain', async (t) => {
    const { resolve, queries } = await startNameServer(t, () => ({ answers: [], code: 3 }));

    await assert.rejects(resolve('database', optionsOf(OTHER)));

    assert.deepEqual(new Set(queries), new Set(['A database udp', 'AAAA database udp']));
  });
});

describe('the hosts file', () => {
  it('is used for names that an entry of EGRESS_ALLOW may grant, and for no others', async (t) => {
    const directory = await mkdtemp(path.join(tmpdir(), 'hosts-'));
    t.after(() => rm(directory, { recursive: true }));
    const hostsFile = path.join(directory, 'hosts');
    await writeFile(hostsFile, '# ours\n::1 receiver\n127.0.0.1\tReceiver other # both\nnonsense receiver\n');
    const server = await startNameServer(t, () => ({ answers: [], code: 3 }));
    const receiver = await listen(t, (_request, response) => response.writeHead(204).end());
    const resolve = createNameResolver({ servers: [`127.0.0.1:${server.port}`], hostsFile });
    const { egress } = egressOf(t, [`http://receiver:${receiver.port}`], { resolve });

    assert.equal((await egress.post(`http://receiver:${receiver.port}/`, message())).status, 204);
    assert.equal(server.queries.length, 0);
    await failsWith('unreachable', egress.post('https://other/', message()));
    assert.ok(server.queries.includes('A other udp'));
    const granted = { ...optionsOf(OTHER), mayBeGranted: true };
    assert.deepEqual(await resolve('receiver', granted), ['127.0.0.1', '::1']);
    assert.deepEqual(await resolve('localhost', granted), ['127.0.0.1', '::1']);
  });
});
