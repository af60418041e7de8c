/** Key sets of providers, fetched by the guarded client from a server that misbehaves. */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { parseAllowList } from '../../../src/egress/operator-lists.ts';
import { createEgress } from '../../../src/egress/guarded-client.ts';
import { createPublicKeys } from '../../../src/providers/hooks/public-keys.ts';
import type { PublicKeys } from '../../../src/providers/hooks/public-keys.ts';
import { silentLogger } from '../../../src/telemetry/log.ts';

const DAY_MS = 86_400_000;
const newJwk = () => ({ ...generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' }), kid: 'any' });

describe('the public keys of a provider', () => {
  let answer: (response: ServerResponse) => void = () => undefined;
  let fetches = 0;
  let nowMs = 0;
  const server = createServer((_request, response) => {
    fetches += 1;
    answer(response);
  });
  let origin = '';
  let close = (): Promise<void> => Promise.resolve();
  let create = (): PublicKeys => assert.fail('not started');

  before(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const egress = createEgress({ allow: parseAllowList([origin]), ports: [443], logger: silentLogger() });
    close = () => egress.close();
    create = () => {
      fetches = 0;
      nowMs += DAY_MS;
      return createPublicKeys({ egress, logger: silentLogger(), now: () => nowMs });
    };
  });
  after(async () => {
    await close();
    server.close();
  });

  const answerWith = (...keys: readonly unknown[]): void => {
    answer = (response) => response.end(JSON.stringify({ keys }));
  };
  const get = (keys: PublicKeys) => keys.get(`${origin}/jwks.json`);

  it('are fetched once for all who wait, and kept for a day', async () => {
    const keys = create();
    answerWith(newJwk(), newJwk());

    const found = await Promise.all([get(keys), get(keys), get(keys)]);
    assert.deepEqual(
      found.map(({ length }) => length),
      [2, 2, 2],
    );
    nowMs += DAY_MS - 1;
    await get(keys);
    assert.equal(fetches, 1);
    nowMs += 1;
    await get(keys);
    assert.equal(fetches, 2);
  });

  it('are fetched again for a key that is not among them, at most once a minute', async () => {
    const keys = create();
    answerWith(newJwk());
    const first = await get(keys);
    const url = `${origin}/jwks.json`;

    assert.equal(await keys.renew(url, first), undefined);
    assert.equal(fetches, 1);
    nowMs += 60_000;
    const [one, two] = await Promise.all([keys.renew(url, first), keys.renew(url, first)]);
    assert.equal(fetches, 2);
    assert.equal(one?.length, 1);
    assert.equal(two, one);
    assert.notEqual(one, first);
    // A caller that still has the old keys gets the new ones without another fetch.
    assert.equal(await keys.renew(url, first), one);
    assert.equal(fetches, 2);
  });

  it('do not include keys of another type, nor what is no key', async () => {
    answerWith(
      newJwk(),
      { kty: 'OKP', crv: 'X25519', x: 'AAAA' },
      { kty: 'RSA', n: 'AAAA', e: 'AQAB' },
      { kty: 'OKP', crv: 'Ed25519', x: 'too short' },
      null,
      'key',
    );
    assert.equal((await get(create())).length, 1);
  });

  it('are none, and fetched again after a minute only, where the server does not give any', async () => {
    const bad: readonly ((response: ServerResponse) => void)[] = [
      (response) => response.destroy(),
      (response) => response.writeHead(500).end(),
      (response) => response.end('<html>'),
      (response) => response.end('{"keys":{"a":1}}'),
      (response) => response.end(JSON.stringify({ keys: [newJwk()], padding: 'x'.repeat(64 * 1024) })),
      // No end: cut off at the bound.
      (response) => response.write(' '.repeat(64 * 1024 + 1)),
      (response) => response.writeHead(302, { location: 'http://10.0.0.1/jwks.json' }).end(),
      (response) => response.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data' }).end(),
    ];
    for (const each of bad) {
      const keys = create();
      answer = each;
      assert.deepEqual(await get(keys), []);
      answerWith(newJwk());
      assert.deepEqual(await get(keys), []);
      assert.equal(fetches, 1);
      nowMs += 60_000;
      // An answer without a key is kept like any other, until a call asks for a new key.
      const found = await get(keys);
      const renewed = found.length === 0 ? await keys.renew(`${origin}/jwks.json`, found) : found;
      assert.equal(renewed?.length, 1);
    }
  });

  it('are kept while the server is down, but not beyond a day', async () => {
    const keys = create();
    answerWith(newJwk());
    const first = await get(keys);
    answer = (response) => response.destroy();

    nowMs += DAY_MS - 1;
    assert.equal(await keys.renew(`${origin}/jwks.json`, first), undefined);
    assert.equal(await get(keys), first);
    nowMs += 60_001;
    assert.deepEqual(await get(keys), []);
  });
});
