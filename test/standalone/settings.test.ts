/**
 * What `npm start` makes of its environment for its roles: the keys, with those of `secrets.json` that are needed in
 * addition; the proxy variables; and the problems that it reports before it starts anything.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { describe, it } from 'node:test';
import { ConfigurationError } from '../../src/config/environment.ts';
import { exceptLoopback, keyVariables, readSettings } from '../../src/standalone/settings.ts';

const OTHER = 'o'.repeat(32);
const ROTATED = {
  urlSigningKey: 'a'.repeat(32),
  encryptionKey: 'b'.repeat(32),
  urlSigningKeyFallbacks: ['c'.repeat(32)],
  encryptionKeyFallbacks: ['d'.repeat(32)],
};
const OF_FILE = {
  URL_SIGNING_KEY: ROTATED.urlSigningKey,
  ENCRYPTION_KEY: ROTATED.encryptionKey,
  URL_SIGNING_KEY_FALLBACKS: ROTATED.urlSigningKeyFallbacks.join(','),
  ENCRYPTION_KEY_FALLBACKS: ROTATED.encryptionKeyFallbacks.join(','),
};

/** Without those that are removed from the environment. */
function keysWith(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const variables = { ...environment, ...keyVariables(ROTATED, environment) };
  return Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== undefined));
}

describe('the keys that npm start gives to its roles', () => {
  it('are those of secrets.json when the environment sets none', () => {
    assert.deepEqual(keysWith({}), OF_FILE);
    assert.deepEqual(keysWith({ ENCRYPTION_KEY: '', ENCRYPTION_KEY_FALLBACKS: '' }), OF_FILE);
  });

  it('include the fallbacks of both, without duplicates', () => {
    const keys = keysWith({
      ENCRYPTION_KEY_FALLBACKS: `${OTHER}, ${OF_FILE.ENCRYPTION_KEY_FALLBACKS}`,
      URL_SIGNING_KEY_FALLBACKS: OTHER,
    });
    assert.equal(keys['ENCRYPTION_KEY_FALLBACKS'], `${OTHER},${OF_FILE.ENCRYPTION_KEY_FALLBACKS}`);
    assert.equal(keys['URL_SIGNING_KEY_FALLBACKS'], `${OTHER},${OF_FILE.URL_SIGNING_KEY_FALLBACKS}`);
  });

  it('are read from files too, which no role reads again beside the variable', async () => {
    const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-keys-'));
    const file = path.join(directory, 'key');
    await writeFile(file, `${OTHER}\n`);

    const keys = keysWith({ ENCRYPTION_KEY_FILE: file, ENCRYPTION_KEY_FALLBACKS_FILE: file });

    assert.deepEqual(keys, {
      URL_SIGNING_KEY: OF_FILE.URL_SIGNING_KEY,
      URL_SIGNING_KEY_FALLBACKS: OF_FILE.URL_SIGNING_KEY_FALLBACKS,
      ENCRYPTION_KEY_FILE: file,
      ENCRYPTION_KEY_FALLBACKS: `${OTHER},${OF_FILE.ENCRYPTION_KEY_FALLBACKS}`,
    });
    await rm(directory, { recursive: true });
  });
});

const LOOPBACK = '127.0.0.1,localhost,::1';

describe('the proxy variables of our own processes', () => {
  it('except the loopback', () => {
    assert.deepEqual(exceptLoopback({ HTTP_PROXY: 'http://proxy:3128' }), { NO_PROXY: LOOPBACK, no_proxy: LOOPBACK });
  });

  it('keep what the operator excepted, in either spelling and for gRPC', () => {
    const environment = { NO_PROXY: 'db.internal, localhost', no_grpc_proxy: 'temporal.internal' };

    assert.deepEqual(exceptLoopback(environment), {
      NO_PROXY: 'db.internal,localhost,127.0.0.1,::1',
      no_proxy: 'db.internal,localhost,127.0.0.1,::1',
      no_grpc_proxy: `temporal.internal,${LOOPBACK}`,
    });
    assert.equal(exceptLoopback({ no_proxy: 'a', NO_PROXY: 'b' })['no_proxy'], `a,${LOOPBACK}`);
    assert.equal(exceptLoopback({ no_proxy: '', NO_PROXY: 'b' })['no_proxy'], `b,${LOOPBACK}`);
    assert.equal(exceptLoopback({ no_proxy: '*' })['NO_PROXY'], '*');
  });
});

it('reports an invalid callback header prefix together with all other problems', () => {
  assert.throws(
    () => readSettings({ LOG_REQUESTS: 'yes', CALLBACK_HEADER_PREFIX: 'Webhook' }),
    (error: unknown) => {
      assert.ok(error instanceof ConfigurationError);
      const names = error.problems.map((problem) => problem.split(':')[0]);
      assert.deepEqual(new Set(names), new Set(['CALLBACK_HEADER_PREFIX', 'LOG_REQUESTS']));
      return true;
    },
  );
});
