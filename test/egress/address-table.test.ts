/**
 * The table of addresses (fixtures/addresses.ts) against each way in which a third party can make us connect to one:
 * a literal in a URL, a redirect, an answer of a name server. A blocked address is never connected to, and the
 * failure is the same for all; for a public address the test sees the connection to exactly that address.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isPublicAddress, isSameAddress } from '../../src/egress/address.ts';
import { parseAllowList } from '../../src/egress/operator-lists.ts';
import { checkUrl, mayConnect, targetOf } from '../../src/egress/policy.ts';
import { watchConnects } from './connects.ts';
import type { Connect } from './connects.ts';
import { ADDRESSES, SMOKESCREEN, URLS } from './fixtures/addresses.ts';
import { AMPLE_MS, egressOf, failsWith, listen, message } from './loopback.ts';
import { address as addressAnswer, startNameServer } from './name-server.ts';

const FAILURE = 'the address could not be reached';

/** Of a literal address. */
function urlOf(address: string, port = 443): string {
  return `https://${address.includes(':') ? `[${address}]` : address}:${port}/`;
}

/** Asserts that exactly this address was tried, or none, and nothing else. */
function assertTried(tried: readonly Connect[], expected: string | undefined, what: string): void {
  if (expected === undefined) {
    assert.deepEqual(tried, [], what);
    return;
  }
  assert.equal(tried.length, 1, `${what}: ${JSON.stringify(tried)}`);
  assert.ok(isSameAddress(expected, tried[0]?.host), `${what}: ${tried[0]?.host}`);
  assert.equal(tried[0]?.port, 443, what);
}

describe('the table of addresses', () => {
  it('holds both kinds, each address once', () => {
    assert.ok(ADDRESSES.filter(({ isPublic }) => isPublic).length > 15);
    assert.ok(ADDRESSES.filter(({ isPublic }) => !isPublic).length > 100);
    assert.equal(new Set(ADDRESSES.map(({ address }) => address)).size, ADDRESSES.length);
  });

  for (const { address, isPublic, what } of ADDRESSES) {
    it(`${isPublic ? 'lets' : 'blocks'} ${address} (${what})`, async (t) => {
      assert.equal(isPublicAddress(address), isPublic);
      assert.equal(checkUrl(urlOf(address), { allow: parseAllowList([]), ports: [443] }).ok, isPublic);

      const tried = watchConnects(t);
      const { egress, logged } = egressOf(t, []);
      const error = await failsWith('unreachable', egress.post(urlOf(address), message()));

      assert.equal(error.message, FAILURE);
      assertTried(tried, isPublic ? address : undefined, 'a literal');
      assert.equal(logged().length, isPublic ? 0 : 1);
    });
  }

  it('applies to every address that a download is redirected to', async (t) => {
    let location = '';
    const store = await listen(t, (_request, response) => response.writeHead(302, { location }).end());
    const tried = watchConnects(t, [store.port]) as Connect[];
    const { egress } = egressOf(t, [`http://127.0.0.1:${store.port}`]);
    const start = `http://127.0.0.1:${store.port}/`;

    for (const { address, isPublic } of ADDRESSES) {
      location = urlOf(address);
      const error = await failsWith(
        'unreachable',
        egress.download(start, { accountId: 'ac-1', timeoutMs: AMPLE_MS, maxBytes: 1_000 }),
      );
      assert.equal(error.message, FAILURE);
      assertTried(tried.splice(0), isPublic ? address : undefined, `a redirect to ${address}`);
    }
    assert.equal(store.requests.length, ADDRESSES.length);
  });

  it('applies to every address that a name server returns', async (t) => {
    let answer = '';
    const server = await startNameServer(t, (name, type) => {
      const isAsked = answer.includes(':') === (type === 'AAAA');
      return { answers: isAsked ? [addressAnswer(name, answer)] : [] };
    });
    const tried = watchConnects(t) as Connect[];
    const { egress } = egressOf(t, [], { resolve: server.resolve });

    for (const [index, { address, isPublic }] of ADDRESSES.entries()) {
      answer = address;
      const error = await failsWith('unreachable', egress.post(`https://case-${index}.test/`, message()));
      assert.equal(error.message, FAILURE);
      assertTried(tried.splice(0), isPublic ? address : undefined, `an answer of ${address}`);
    }
    assert.ok(server.queries.length >= ADDRESSES.length * 2);
  });
});

describe('the table of URLs', () => {
  for (const { url, reaches, what } of URLS) {
    it(`${reaches === undefined ? 'rejects' : 'accepts'} ${JSON.stringify(url)} (${what})`, async (t) => {
      const tried = watchConnects(t);
      const { egress } = egressOf(t, []);

      const error = await failsWith('unreachable', egress.post(url, message()));

      assert.equal(error.message, FAILURE);
      assertTried(tried, reaches, url);
    });
  }

  it('applies to redirects, and a relative address stays at the server', async (t) => {
    let location = '';
    const store = await listen(t, (_request, response) => response.writeHead(302, { location }).end());
    const tried = watchConnects(t, [store.port]) as Connect[];
    const { egress } = egressOf(t, [`http://127.0.0.1:${store.port}`]);
    const start = `http://127.0.0.1:${store.port}/`;
    // A header carries bytes, so a sender writes non-ASCII characters percent-encoded or not at all.
    const sendable = URLS.filter(({ url }) => /^[\u0021-\u007E]+$/.test(url));

    for (const { url } of sendable) {
      location = url;
      await failsWith(
        'unreachable',
        egress.download(start, { accountId: 'ac-1', timeoutMs: AMPLE_MS, maxBytes: 1_000 }),
      );
      for (const { host } of tried.splice(0)) assert.ok(isPublicAddress(host), `a redirect to ${url} went to ${host}`);
    }
    assert.ok(sendable.length > 80, String(sendable.length));
  });
});

describe("Smokescreen's cases", () => {
  const policy = { allow: parseAllowList(SMOKESCREEN.rules), ports: [443] };
  for (const { address, port, isAllowed, what } of SMOKESCREEN.cases) {
    it(`${isAllowed ? 'lets' : 'blocks'} ${address} on port ${port}: ${what}`, () => {
      const url = urlOf(address, port);
      const target = targetOf(new URL(url)) ?? assert.fail();

      assert.equal(checkUrl(url, policy).ok, isAllowed);
      assert.equal(mayConnect(target, address, policy), isAllowed);
    });
  }
});
