/** An installation's database copied elsewhere: the same to the last row, and its ledger continues. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { createAccount } from '../../src/accounts/accounts.ts';
import { SCOPES } from '@darkroom/api/facts/scopes';
import { createKey } from '../../src/accounts/keys.ts';
import { topUp } from '../../src/billing/ledger.ts';
import { verifyLedger } from '../../src/billing/verify.ts';
import { DatabaseCopyError, copyDatabase } from '../../src/database/copy.ts';
import { newId } from '../../src/domain/ids.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';

const logger = silentLogger();

async function ask<Row extends object>(url: string, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}

/** Every table with a digest of its rows; except the transaction numbers, which belong to the server. */
async function contentOf(url: string): Promise<Record<string, string>> {
  const tables = await ask<{ name: string }>(
    url,
    `SELECT table_name AS name FROM information_schema.tables
      WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND table_name <> 'migrations'`,
  );
  const content: Record<string, string> = {};
  for (const { name } of tables) {
    const [row] = await ask<{ digest: string }>(
      url,
      `SELECT count(*) || ' ' || coalesce(md5(string_agg((to_jsonb(t) - 'xid')::text, ',' ORDER BY (to_jsonb(t) - 'xid')::text)), '') AS digest
         FROM ${pg.escapeIdentifier(name)} t`,
    );
    content[name] = row?.digest ?? '';
  }
  return content;
}

describe('a copy of the database', () => {
  let source: TestDatabase;
  let target: TestDatabase;
  before(async () => {
    source = await createTestDatabase();
    target = await createTestDatabase();
    await source.database.transaction(async (transaction) => {
      for (const name of ['first', 'a name with \t, \n, \\N and "quotes"']) {
        const accountId = await createAccount(transaction, name, {});
        await topUp(transaction, accountId, 5_000_000n, newId('topup'));
        await createKey(transaction, accountId, { name: 'ü', scopes: SCOPES });
      }
    });
  });
  after(async () => {
    await source.close();
    await target.close();
  });

  /** Without our own pools, which are connections too. */
  async function alone(url: string, work: () => Promise<unknown>): Promise<unknown> {
    await ask(
      url,
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    );
    return work();
  }

  const copy = (): Promise<unknown> => copyDatabase({ from: source.url, to: target.url, logger });
  const isCopyError = (words: RegExp) => (error: unknown) =>
    error instanceof DatabaseCopyError && words.test(error.message);

  it('is rejected while the source is in use', async () => {
    const busy = new pg.Client({ connectionString: source.url });
    await busy.connect();
    await assert.rejects(copy(), isCopyError(/in use by \d+ other connection/));
    await busy.end();
  });

  it('is rejected for the schema of another release, with what to do', async () => {
    await ask(source.url, `UPDATE migrations SET name = name || '_other' WHERE name LIKE '0001%'`);
    await assert.rejects(alone(source.url, copy), isCopyError(/run migrate on it first/));
    await ask(source.url, `UPDATE migrations SET name = replace(name, '_other', '')`);
  });

  it('leaves nothing in the target when it is interrupted', async () => {
    await ask(target.url, `ALTER TABLE api_keys ADD CONSTRAINT in_the_way CHECK (name <> 'ü')`);
    const before = await contentOf(target.url);
    await assert.rejects(alone(source.url, copy), /in_the_way/);
    assert.deepEqual(await contentOf(target.url), before);
    await ask(target.url, 'ALTER TABLE api_keys DROP CONSTRAINT in_the_way');
  });

  it('has every row, continues the sequences of the source, and its ledger adds up', async () => {
    await alone(source.url, copy);

    assert.deepEqual(await contentOf(target.url), await contentOf(source.url));
    assert.deepEqual(await verifyLedger(target.database), []);
    const newest = 'SELECT max(id)::text AS id FROM ledger_entries';
    const [last] = await ask<{ id: string }>(source.url, newest);
    await target.database.transaction(async (transaction) => {
      const accountId = await createAccount(transaction, 'later', {});
      await topUp(transaction, accountId, 1n, newId('topup'));
    });
    const [next] = await ask<{ id: string }>(target.url, newest);
    assert.ok(Number(next?.id) > Number(last?.id), `${next?.id} after ${last?.id}`);
  });

  it('is rejected for a target that is in use', async () => {
    await assert.rejects(alone(source.url, copy), isCopyError(/has accounts already/));
  });

  it('names the database that is unreachable, without its password', async () => {
    const from = 'postgres://somebody:a-password@127.0.0.1:1/none';
    await assert.rejects(copyDatabase({ from, to: target.url, logger }), (error: unknown) => {
      assert.ok(error instanceof DatabaseCopyError);
      assert.match(error.message, /127\.0\.0\.1:1\/none does not answer/);
      assert.doesNotMatch(error.message, /a-password/);
      return true;
    });
  });
});
