/** What production rejects, and a developer's machine does not. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { loadConfig } from '../../src/config/config.ts';
import { ConfigurationError } from '../../src/config/environment.ts';
import { unsetForProduction } from '../../src/config/production.ts';

const GOOD = {
  DATABASE_URL: 'postgres://user:5f3c1ab0@db:5432/darkroom',
  TEMPORAL_ADDRESS: 'temporal:7233',
  STORE_URL: 'file:///var/lib/darkroom',
  URL_SIGNING_KEY: '8c1f0e5b7a92d3461e0f7c5a9b28d364',
  ENCRYPTION_KEY: '1b9d4e7f0a3c6258d9e1f4b7a0c3d652',
};
const OFF_LOOPBACK = { HOST: '0.0.0.0', PUBLIC_URL: 'https://api.example.com', TRUSTED_PROXIES: '10.0.0.0/8' };

function problemsOf(environment: Readonly<Record<string, string>>): readonly string[] {
  try {
    loadConfig({ ...GOOD, ...environment });
    return [];
  } catch (error) {
    assert.ok(error instanceof ConfigurationError);
    return error.problems;
  }
}

const WEAK = {
  'a secret of one letter': [{ ENCRYPTION_KEY: 's'.repeat(40) }, /^ENCRYPTION_KEY is not a secret/],
  'a placeholder': [
    { URL_SIGNING_KEY: 'please-change-me-please-change-me-please' },
    /^URL_SIGNING_KEY is not a secret/,
  ],
  'the digits in their order': [{ ADMIN_TOKEN: '01234567890123456789012345678901' }, /^ADMIN_TOKEN is not a secret/],
  'a placeholder that is accepted beside a secret': [
    { ENCRYPTION_KEY_FALLBACKS: 'please-change-me-please-change-me-please' },
    /^ENCRYPTION_KEY_FALLBACKS contains a value that is not a secret/,
  ],
  'one secret for two things': [{ ENCRYPTION_KEY: GOOD.URL_SIGNING_KEY }, /are the same/],
  'a well-known password': [
    { DATABASE_URL: 'postgres://postgres:Postgres@db/darkroom' },
    /^DATABASE_URL has a well-known password/,
  ],
  'a well-known password behind a pooler': [
    { DATABASE_DIRECT_URL: 'postgres://postgres:Postgres@db/darkroom' },
    /^DATABASE_DIRECT_URL has a well-known password/,
  ],
} as const;

describe('production', () => {
  for (const [what, [environment, problem]] of Object.entries(WEAK)) {
    it(`rejects ${what}, which is allowed in development`, () => {
      assert.deepEqual(problemsOf(environment), []);
      for (const where of [{ NODE_ENV: 'production' }, OFF_LOOPBACK]) {
        const problems = problemsOf({ ...where, ...environment });
        assert.equal(problems.length, 1, problems.join('\n'));
        assert.match(problems[0] ?? '', problem);
        for (const secret of Object.values(environment)) assert.ok(!problems[0]?.includes(secret));
      }
    });
  }

  it('accepts real secrets', () => {
    assert.deepEqual(problemsOf({ NODE_ENV: 'production', ADMIN_TOKEN: '7d0c9b8a6f5e4d3c2b1a09f8e7d6c5b4' }), []);
    assert.deepEqual(problemsOf(OFF_LOOPBACK), []);
    assert.deepEqual(problemsOf({ NODE_ENV: 'production', DATABASE_URL: 'postgres://darkroom@db/darkroom' }), []);
  });
});

describe('what production usually sets', () => {
  const namesOf = (environment: NodeJS.ProcessEnv, role: 'api' | 'worker' = 'api'): readonly string[] =>
    unsetForProduction({ ...GOOD, ...environment }, role).map(({ name }) => name);
  const ALL = ['DRAIN_SECONDS', 'METRICS_PORT', 'TASK_RETENTION_DAYS', 'TEXT_CALL_RETENTION_DAYS'];

  it('is named with what its absence means, and not in development', () => {
    assert.deepEqual(namesOf({ NODE_ENV: 'production' }), ALL);
    assert.deepEqual(namesOf(OFF_LOOPBACK), ALL);
    assert.deepEqual(namesOf({ NODE_ENV: 'production' }, 'worker'), ALL.slice(1));
    assert.deepEqual(namesOf({}), []);
    const [first] = unsetForProduction({ ...GOOD, NODE_ENV: 'production' }, 'api');
    assert.match(first?.effect ?? '', /requests .* fail/);
  });

  it('is not named when the operator has decided, for 0 too', () => {
    const decided = Object.fromEntries(ALL.map((name) => [name, '0']));
    assert.deepEqual(namesOf({ NODE_ENV: 'production', ...decided }), []);
    assert.deepEqual(namesOf({ NODE_ENV: 'production', ...decided, METRICS_PORT: '' }), ['METRICS_PORT']);
  });
});
