/** One limit over several real api processes on one PostgreSQL (contract §7): never more than 10 % above it. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createAccount } from '../../src/accounts/accounts.ts';
import { SCOPES } from '@darkroom/api/facts/scopes';
import { createKey } from '../../src/accounts/keys.ts';
import { ApiClient } from '../support/api-client.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';

const PER_MINUTE = 600;
const CLIENTS = 12;
/** Long enough for some leases to end and others to start. */
const LASTS_MS = 8_000;

let darkroom: Darkroom;
before(async () => {
  darkroom = await startDarkroom({ apis: 3, workers: 0 });
});
after(() => darkroom.stop());

describe('a limit over three api processes', () => {
  // Proves C7-18.
  it('holds within 10 % for clients that send to all of them as fast as they can', async () => {
    const { database } = darkroom.testDatabase;
    const key = await database.transaction(async (transaction) => {
      const accountId = await createAccount(transaction, 'test', { readsPerMinute: PER_MINUTE });
      return createKey(transaction, accountId, { name: 'test', scopes: SCOPES });
    });
    const begin = performance.now();
    let served = 0;
    let rejected = 0;
    const ask = async (): Promise<void> => {
      const client = new ApiClient(darkroom.urls, key.secret);
      // On a slow machine until the limit was reached, however long that takes.
      while (performance.now() - begin < LASTS_MS || rejected === 0) {
        const { status } = await client.send('GET', '/v1/account');
        assert.ok(status === 200 || status === 429, String(status));
        if (status === 200) served += 1;
        else rejected += 1;
      }
    };

    await Promise.all(Array.from({ length: CLIENTS }, ask));

    const minutes = (performance.now() - begin) / 60_000;
    const allowed = PER_MINUTE + PER_MINUTE * minutes;
    assert.ok(served <= allowed * 1.1, `${served} served, ${allowed} allowed`);
    // They can use the full limit, whichever process they send requests to.
    assert.ok(served >= allowed * 0.85, `${served} served, ${allowed} allowed`);
  });
});
