/**
 * What `npm start` creates at its first start: an account with ten times the usual limits (contract §7), and its key.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { GIVE_UP_MS } from '@darkroom/testing/wait-for';
import { createAccount, readAccount } from '../../src/accounts/accounts.ts';
import type { AccountLimits } from '../../src/accounts/accounts.ts';
import { createAuthenticator } from '../../src/accounts/authenticate.ts';
import { SCOPES } from '@darkroom/api/facts/scopes';
import { createKey, listKeys, readKey, revokeKey } from '../../src/accounts/keys.ts';
import { redeemSignInLink } from '../../src/accounts/sessions.ts';
import { builtProgram } from '../support/built-program.ts';
import { programEnvironment } from '../support/pooled-run.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';

interface FirstRun {
  readonly accountId: string;
  readonly apiKey?: string;
  readonly balanceUsd: string;
  readonly signInSecret: string;
}

let test: TestDatabase;
before(async () => {
  test = await createTestDatabase();
});
after(() => test.close());

function firstRun(): Promise<FirstRun> {
  const child = spawn(process.execPath, [...builtProgram(), 'first-run'], {
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      ...programEnvironment(test.url),
      ENCRYPTION_KEY: 'an encryption key of at least 32 characters',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: GIVE_UP_MS,
  });
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) resolve(JSON.parse(printed) as FirstRun);
      else reject(new Error(`first-run ended with ${code}`));
    });
  });
}

describe('the first run', () => {
  // Proves C7-15.
  it('creates an account with ten times the usual limits and a key with every scope, once', async () => {
    const made = await firstRun();
    const again = await firstRun();

    assert.equal(again.accountId, made.accountId);
    assert.equal(again.apiKey, undefined);
    const caller = await createAuthenticator(test.database).authenticate(`Bearer ${made.apiKey}`);
    assert.equal(caller.accountId, made.accountId);
    assert.deepEqual(caller.scopes, new Set(SCOPES));
    const usual = await limitsOf(await createAccount(test.database, 'usual'));
    assert.deepEqual(await limitsOf(made.accountId), {
      ...usual,
      runningCap: 10 * usual.runningCap,
      queueCap: 10 * usual.queueCap,
      createsPerMinute: 10 * usual.createsPerMinute,
      readsPerMinute: 10 * usual.readsPerMinute,
      textRequestsPerMinute: 10 * usual.textRequestsPerMinute,
      textTokensPerMinute: 10 * usual.textTokensPerMinute,
      textStreamsCap: 10 * usual.textStreamsCap,
    });
  });

  it('prints a link to the dashboard at every start, whose session has all scopes of the account’s widest key', async () => {
    const first = await firstRun();
    const [key] = await listKeys(test.database, first.accountId);
    assert.ok(key);
    const narrow = await createKey(test.database, first.accountId, { name: 'narrow', scopes: ['dashboard'] });
    const again = await firstRun();
    assert.notEqual(again.signInSecret, first.signInSecret);
    assert.equal(await redeemSignInLink(test.database, first.signInSecret, Date.now()), key.id);
    assert.equal(await redeemSignInLink(test.database, again.signInSecret, Date.now()), key.id);

    await revokeKey(test.database, key.id);
    await revokeKey(test.database, narrow.id);
    const later = await firstRun();
    const madeId = await redeemSignInLink(test.database, later.signInSecret, Date.now());
    const made = await readKey(test.database, madeId ?? '', first.accountId);
    assert.deepEqual([made.name, made.scopes], ['dashboard', [...SCOPES]]);
    assert.equal(later.apiKey, undefined);
  });

  async function limitsOf(accountId: string): Promise<AccountLimits> {
    return (await readAccount(test.database, accountId)).limits;
  }
});
