/** The operators' listener obeys the rules of the public one, and has an address and a credential of its own. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { loadConfig } from '../../src/config/config.ts';
import type { Config } from '../../src/config/config.ts';
import { LEAST, problemsOf as problemsIn } from './least-configuration.ts';

const TOKEN = 't'.repeat(32);
const VARIABLES = { ...LEAST, ADMIN_TOKEN: TOKEN };

function load(environment: NodeJS.ProcessEnv = {}): Config {
  return loadConfig({ ...VARIABLES, ...environment });
}

const problemsOf = (environment: NodeJS.ProcessEnv): readonly string[] => problemsIn(() => load(environment));

describe('the admin listener', () => {
  it('is started only when there is a token', () => {
    assert.equal(load({ ADMIN_TOKEN: '' }).admin, undefined);
    assert.equal(load().admin?.token, TOKEN);
  });

  // Proves C0-8.
  it('is on loopback, beside the public one, by default', () => {
    const { admin } = load();

    assert.equal(admin?.http.host, '127.0.0.1');
    assert.equal(admin.http.port, 8788);
    assert.equal(admin.http.requiresHttps, false);
    assert.equal(load({ ADMIN_HOST: '::1', ADMIN_PORT: '0' }).admin?.http.port, 0);
  });

  it('needs a long token that a header can carry', () => {
    assert.deepEqual(problemsOf({ ADMIN_TOKEN: 'hush hush' }).length, 2);
    for (const token of ['with a blank'.repeat(5), 'ü'.repeat(40), `${'x'.repeat(40)}\n`]) {
      const problems = problemsOf({ ADMIN_TOKEN: token });
      assert.deepEqual(problems, ['ADMIN_TOKEN: want visible ASCII characters without blanks']);
      assert.ok(!problems.join('\n').includes(token));
    }
  });

  it('needs a port of its own', () => {
    assert.deepEqual(problemsOf({ ADMIN_PORT: '8787' }), [
      'ADMIN_PORT and PORT are both 8787: each needs its own port',
    ]);
    assert.equal(problemsOf({ ADMIN_PORT: 'x' }).length, 1);
    assert.equal(problemsOf({ ADMIN_PORT: '65536' }).length, 1);
  });

  it('beyond loopback is rejected without a certificate or trusted proxies, wherever the public one listens', () => {
    for (const host of ['0.0.0.0', '::', '192.168.1.10', 'admin.example.com']) {
      const [problem, ...more] = problemsOf({ ADMIN_HOST: host });
      assert.match(problem ?? '', new RegExp(`^ADMIN_HOST is ${host}, which is not loopback`));
      assert.deepEqual(more, []);
    }
    // It is valid if there is no such listener.
    assert.deepEqual(problemsOf({ ADMIN_HOST: '0.0.0.0', ADMIN_TOKEN: '' }), []);
  });

  it('beyond loopback needs HTTPS of each request behind proxies, and serves it itself with a certificate', () => {
    const proxied = load({ ADMIN_HOST: '0.0.0.0', TRUSTED_PROXIES: '10.0.0.0/8' });
    assert.equal(proxied.admin?.http.requiresHttps, true);
    assert.equal(proxied.http.requiresHttps, false);
    const own = load({ ADMIN_HOST: '0.0.0.0', TLS_CERT_FILE: '/c', TLS_KEY_FILE: '/k' });
    assert.equal(own.admin?.http.requiresHttps, false);
    assert.deepEqual(own.admin.http.tls, { certificateFile: '/c', keyFile: '/k' });
  });
});

describe('the URL of another service', () => {
  it('is rejected when it is invalid or unsafe', () => {
    const https = {
      ADMIN_TOKEN: '',
      HOST: '0.0.0.0',
      TRUSTED_PROXIES: '10.0.0.0/8',
      PUBLIC_URL: 'https://api.example.com',
    };
    assert.deepEqual(problemsOf(https), []);
    const cases: readonly (readonly [NodeJS.ProcessEnv, RegExp])[] = [
      [{ DATABASE_URL: 'mysql://db/darkroom' }, /^DATABASE_URL: want postgres:/],
      [{ DATABASE_DIRECT_URL: 'db:5432' }, /^DATABASE_DIRECT_URL: want postgres:/],
      [{ DATABASE_POOLER: 'session' }, /^DATABASE_POOLER: "session" is not one of none, transaction$/],
      [{ DATABASE_STATEMENTS: 'none' }, /^DATABASE_STATEMENTS: "none" is not one of named, unnamed$/],
      [{ ...https, PUBLIC_URL: 'http://api.example.com' }, /^PUBLIC_URL: .* only HTTPS is served here$/],
      [{ TLS_CERT_FILE: 'a', TLS_KEY_FILE: 'b', PUBLIC_URL: 'http://127.0.0.1:8787' }, /^PUBLIC_URL: /],
      [{ ...https, TRUSTED_PROXIES: '0.0.0.0/0' }, /^TRUSTED_PROXIES: "0\.0\.0\.0\/0" includes every address/],
      [{ TRUSTED_PROXIES: '10.0.0.0/8,::/0' }, /^TRUSTED_PROXIES: "::\/0" includes every address/],
    ];
    for (const [environment, problem] of cases) {
      const problems = problemsOf(environment);
      assert.equal(problems.length, 1, problems.join('\n'));
      assert.match(problems[0] ?? '', problem);
    }
  });
});
