/** `admin sign-in-link`: a link to the dashboard, for the key with the most rights or for the one that is named. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createAccount } from '../../src/accounts/accounts.ts';
import { SCOPES } from '@darkroom/api/facts/scopes';
import { createKey, readKey, revokeKey } from '../../src/accounts/keys.ts';
import { redeemSignInLink } from '../../src/accounts/sessions.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { runAdminInHost } from './admin-command.ts';
import type { CommandResult } from './admin-command.ts';
import { programEnvironment } from '../support/pooled-run.ts';

let test: TestDatabase;
before(async () => {
  test = await createTestDatabase();
});
after(() => test.close());

async function link(...args: string[]): Promise<{ readonly key: string; readonly keyOfLink: string | undefined }> {
  const { code, stdout, stderr } = await run(...args);
  assert.equal(code, 0, stderr);
  const { key, url } = JSON.parse(stdout) as { key: string; url: string };
  const [address, secret = ''] = url.split('#');
  assert.equal(address, 'https://api.example.com/sign-in');
  return { key, keyOfLink: await redeemSignInLink(test.database, secret, Date.now()) };
}

function run(...args: string[]): Promise<CommandResult> {
  const environment = { ...programEnvironment(test.url), PUBLIC_URL: 'https://api.example.com' };
  return runAdminInHost(['sign-in-link', '--json', ...args], environment);
}

describe('admin sign-in-link', () => {
  it("uses the newest of the account's widest keys, and creates one when no key may sign in", async () => {
    const account = await createAccount(test.database, 'studio');
    const made = await link('--account', account);
    assert.equal(made.keyOfLink, made.key);
    assert.deepEqual((await readKey(test.database, made.key, account)).scopes, [...SCOPES]);

    const wide = await createKey(test.database, account, { name: 'wide', scopes: SCOPES });
    await createKey(test.database, account, { name: 'narrow', scopes: ['dashboard', 'tasks:read'] });
    const capped = { name: 'capped', scopes: SCOPES, spendCaps: { dayMicroUsd: 1n } };
    await createKey(test.database, account, capped);
    assert.equal((await link('--account', account)).keyOfLink, wide.id);
  });

  it('uses the named key, if it may sign in', async () => {
    const account = await createAccount(test.database, 'studio');
    const narrow = await createKey(test.database, account, { name: 'narrow', scopes: ['dashboard', 'tasks:read'] });
    assert.equal((await link('--key', narrow.id)).keyOfLink, narrow.id);

    const without = await createKey(test.database, account, { name: 'without', scopes: ['tasks:read'] });
    await revokeKey(test.database, narrow.id);
    for (const [key, problem] of [
      [without.id, /lacks the scope dashboard/],
      [narrow.id, /is revoked/],
      ['0123456789', /no key 0123456789/],
    ] as const) {
      const { code, stderr } = await run('--key', key);
      assert.equal(code, 1);
      assert.match(stderr, problem);
    }
  });
});
