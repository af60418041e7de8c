/**
 * Names with a malicious owner: a name server of ours that changes its answers, mixes them, hides them behind other
 * names, truncates them or stays silent. The addresses of a name are checked as a whole, once for each connection,
 * and the connection goes to a checked address.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TestContext } from 'node:test';
import type { EgressError } from '../../src/egress/egress-error.ts';
import type { Egress } from '../../src/egress/guarded-client.ts';
import { watchConnects } from './connects.ts';
import type { Connect } from './connects.ts';
import { AMPLE_MS, egressOf, failsWith, listen, message } from './loopback.ts';
import { NXDOMAIN, address, startNameServer } from './name-server.ts';
import type { Decide, NameServer, Reply } from './name-server.ts';

const PUBLIC = '8.8.8.8';
const OTHER_PUBLIC = '9.9.9.9';
const PUBLIC_IPV6 = '2606:4700:4700::1111';
const SERVFAIL = 2;
const REFUSED = 5;

interface Scene {
  readonly egress: Egress;
  readonly server: NameServer;
  readonly tried: readonly Connect[];
  readonly logged: () => Record<string, unknown>[];
}

async function scene(test: TestContext, decide: Decide): Promise<Scene> {
  const server = await startNameServer(test, decide);
  const tried = watchConnects(test);
  return { server, tried, ...egressOf(test, [], { resolve: server.resolve }) };
}

/** A server that gives the same addresses to every query. */
const always =
  (...all: readonly string[]): Decide =>
  (name, type) => ({
    answers: all.filter((data) => data.includes(':') === (type === 'AAAA')).map((data) => address(name, data)),
  });

const isBlocked = ({ logged }: Scene): boolean => logged().some((line) => line['msg'] === 'outgoing request blocked');

async function failsAlike(work: Promise<unknown>): Promise<EgressError> {
  const error = await failsWith('unreachable', work);
  assert.equal(error.message, 'the address could not be reached');
  return error;
}

describe('a name server', () => {
  it('that returns a public address first and a private one later leads to the first one only', async (t) => {
    let asked = 0;
    const s = await scene(t, (name, type) => {
      if (type === 'AAAA') return { answers: [] };
      asked++;
      return { answers: [address(name, asked === 1 ? PUBLIC : '127.0.0.1')] };
    });

    await failsAlike(s.egress.post('https://rebinding.test/', message()));
    assert.deepEqual(s.tried, [{ host: PUBLIC, port: 443 }]);
    assert.equal(asked, 1);
    assert.ok(!isBlocked(s));

    // The checked addresses are not cached: the next call resolves the name again, and finds its current address.
    await failsAlike(s.egress.post('https://rebinding.test/', message()));
    assert.equal(s.tried.length, 1);
    assert.equal(asked, 2);
    assert.ok(isBlocked(s));
  });

  it('that changes its answer between the hops of a redirect is validated at each', async (t) => {
    let asked = 0;
    const store = await listen(t, (_request, response) => response.writeHead(302, { location: '/again' }).end());
    const server = await startNameServer(t, (name, type) => {
      if (type === 'AAAA') return { answers: [] };
      asked++;
      return { answers: [address(name, asked === 1 ? '127.0.0.1' : '169.254.169.254')] };
    });
    const tried = watchConnects(t, [store.port]);
    const { egress, logged } = egressOf(t, [`http://127.0.0.1:${store.port}`], { resolve: server.resolve });

    const url = `http://rebinding.test:${store.port}/`;
    await failsAlike(egress.download(url, { accountId: 'ac-1', timeoutMs: AMPLE_MS, maxBytes: 1_000 }));

    assert.equal(store.requests.length, 1);
    assert.deepEqual(tried, []);
    assert.equal(logged().at(-1)?.['address'], '169.254.169.254');
  });

  const MIXED: readonly (readonly [string, readonly string[]])[] = [
    ['a public address and the loopback', [PUBLIC, '127.0.0.1']],
    ['the loopback and a public address', ['127.0.0.1', PUBLIC]],
    ['a public IPv4 and a private IPv6 address', [PUBLIC, 'fd00::1']],
    ['a private IPv4 and a public IPv6 address', ['10.0.0.1', PUBLIC_IPV6]],
    [
      'many public addresses and one that is not, behind those that would be tried',
      [...Array.from({ length: 9 }, (_, index) => `8.8.8.${index + 1}`), '169.254.169.254'],
    ],
    ['the unspecified address', ['0.0.0.0', '::']],
  ];
  for (const [what, addresses] of MIXED) {
    it(`that answers with ${what} makes the request fail`, async (t) => {
      const s = await scene(t, always(...addresses));

      await failsAlike(s.egress.post('https://mixed.test/', message()));

      assert.deepEqual(s.tried, []);
      assert.ok(isBlocked(s));
    });
  }

  it('that answers with public addresses only makes the client try each of them', async (t) => {
    const s = await scene(t, always(PUBLIC, OTHER_PUBLIC, PUBLIC_IPV6));

    await failsAlike(s.egress.post('https://all.test/', message()));

    assert.deepEqual(s.tried.map(({ host }) => host).toSorted(), [PUBLIC_IPV6, PUBLIC, OTHER_PUBLIC]);
  });

  const chain =
    (last: string): Decide =>
    (name, type) => ({
      answers:
        type === 'AAAA'
          ? []
          : [
              { name, type: 'CNAME', ttl: 0, data: 'a.elsewhere.test' },
              { name: 'a.elsewhere.test', type: 'CNAME', ttl: 0, data: 'localhost' },
              address('localhost', last),
            ],
    });

  it('that returns an alias is validated by its address', async (t) => {
    const hidden = await scene(t, chain('127.0.0.1'));
    await failsAlike(hidden.egress.post('https://harmless.test/', message()));
    assert.deepEqual(hidden.tried, []);
    assert.ok(isBlocked(hidden));

    const open = await scene(t, chain(PUBLIC));
    await failsAlike(open.egress.post('https://harmless.test/', message()));
    assert.deepEqual(open.tried, [{ host: PUBLIC, port: 443 }]);
  });

  const NOTHING: readonly (readonly [string, Reply])[] = [
    ['with no address', { answers: [] }],
    ['that there is no such name', { answers: [], code: NXDOMAIN }],
    ['that it failed', { answers: [], code: SERVFAIL }],
    ['that it refuses', { answers: [], code: REFUSED }],
    ['with another name, and nothing of that', { answers: [{ name: 'none.test', type: 'CNAME', data: 'of.test' }] }],
  ];
  for (const [what, reply] of NOTHING) {
    it(`that answers ${what} is reported like an unreachable host`, async (t) => {
      const s = await scene(t, () => reply);

      await failsAlike(s.egress.post('https://none.test/', message()));

      assert.deepEqual(s.tried, []);
      assert.ok(!isBlocked(s));
    });
  }

  it('that never responds is waited for until the deadline of the request, and no longer', async (t) => {
    const s = await scene(t, () => 'silence');

    await failsWith('timeout', s.egress.post('https://silent.test/', message({ timeoutMs: 300 })));

    assert.deepEqual(s.tried, []);
  });

  it('that truncates its answer is queried for all of it, which is then validated', async (t) => {
    const s = await scene(t, (name, type, way) => {
      if (type === 'AAAA') return { answers: [] };
      if (way === 'udp') return { answers: [address(name, PUBLIC)], isCut: true };
      return { answers: [address(name, PUBLIC), address(name, '10.0.0.1')] };
    });

    await failsAlike(s.egress.post('https://cut.test/', message()));

    assert.ok(s.server.queries.includes('A cut.test tcp'));
    assert.deepEqual(s.tried, []);
    assert.ok(isBlocked(s));
  });

  it('that truncates its answer and has no more is treated like one without an answer', async (t) => {
    const s = await scene(t, (_name, _type, way) => (way === 'udp' ? { answers: [], isCut: true } : 'silence'));

    await failsWith('timeout', s.egress.post('https://cut.test/', message({ timeoutMs: 300 })));

    assert.deepEqual(s.tried, []);
  });
});
