/** `migrations/schema.sql` is the schema that the migrations result in, and creates the same one. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { SCHEMA_FILE, renderSchema } from './render-schema.ts';

describe('migrations/schema.sql', () => {
  let testDatabase: TestDatabase;
  let client: pg.Client;
  before(async () => {
    testDatabase = await createTestDatabase();
    client = new pg.Client({ connectionString: testDatabase.url });
    await client.connect();
  });
  after(async () => {
    await client.end();
    await testDatabase.close();
  });

  it('is what the migrations result in', async () => {
    const schema = await renderSchema(client);
    if (process.env['WRITE_SCHEMA'] === '1') await writeFile(SCHEMA_FILE, schema);

    assert.equal(
      await readFile(SCHEMA_FILE, 'utf8'),
      schema,
      'run: WRITE_SCHEMA=1 npm test -- test/database/schema.test.ts',
    );
  });

  it('creates the same schema in an empty database', async () => {
    const schema = await readFile(SCHEMA_FILE, 'utf8');
    await client.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public');

    await client.query(schema);

    assert.equal(await renderSchema(client), schema);
  });
});
