/** An api that is started before its database waits for it, logs that, and can be stopped meanwhile. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { openDatabase } from '../../src/database/database.ts';
import { createDatabaseWait } from '../../src/processes/wait-for-dependencies.ts';
import { createLogger } from '../../src/telemetry/log.ts';
import type { ApiClient } from '../support/api-client.ts';
import { startDatabaseWire } from '../support/database-wire.ts';
import type { DatabaseWire } from '../support/database-wire.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, Role } from '../support/darkroom.ts';
import { servingUrl } from '../support/pooled-run.ts';
import { adminUrl } from '../support/test-database.ts';
import { waitFor } from '@darkroom/testing/wait-for';

describe('an api that is started before its database', () => {
  let wire: DatabaseWire;
  let darkroom: Darkroom;
  let api: Role;
  before(async () => {
    wire = await startDatabaseWire(servingUrl());
    darkroom = await startDarkroom({ workers: 0, databaseServer: wire.url });
    const [only] = darkroom.apis;
    assert.ok(only !== undefined);
    api = only;
  });
  after(async () => {
    wire.repair();
    await darkroom.stop();
    wire.close();
  });

  /** Only the database knows that there is no such task, and a busy machine may let a request to it time out. */
  const waitForService = (client: ApiClient): Promise<void> =>
    waitFor('it serves', async () => (await client.get('tk-svc-00000000000000000000000001')).status === 404);

  async function startWithoutDatabase(): Promise<{ readonly started: Promise<unknown> }> {
    await api.kill('SIGTERM');
    wire.cut();
    const { length } = await readFile(darkroom.logFile, 'utf8');
    const started = api.start().then(
      () => 'ready',
      (error: unknown) => error,
    );
    await waitFor('it says that it waits', async () =>
      (await readFile(darkroom.logFile, 'utf8')).slice(length).includes('waiting for PostgreSQL'),
    );
    return { started };
  }

  it('starts serving once the database is there', async () => {
    const { started } = await startWithoutDatabase();
    wire.repair();

    assert.equal(await started, 'ready');
    const { client } = await darkroom.createAccount();
    await waitForService(client);
  });

  // What an api asks of its database while it starts, after it has found it there.
  for (const statement of ['insert_model_definition', 'renew_text_process_lease', 'select_installation']) {
    it(`waits for a database that disappears while it starts, at ${statement}`, async () => {
      await api.kill('SIGTERM');
      const { length } = await readFile(darkroom.logFile, 'utf8');
      const isCut = wire.cutAt(statement);
      const started = api.start();
      await isCut;
      await waitFor('it says that it waits', async () =>
        (await readFile(darkroom.logFile, 'utf8')).slice(length).includes('waiting for PostgreSQL'),
      );
      wire.repair();

      await started;
      const { client } = await darkroom.createAccount();
      await waitForService(client);
    });
  }

  it('exits gracefully when it is stopped meanwhile', async () => {
    const { started } = await startWithoutDatabase();
    await api.kill('SIGTERM');

    assert.match(String(await started), /the api ended with 0/);
    wire.repair();
    await api.start();
  });

  it('does not wait for a database that rejects its credentials', async () => {
    const url = new URL(adminUrl());
    url.password = 'wrong';
    const logger = createLogger({ level: 'silent', format: 'json', role: 'api' });
    const database = openDatabase({ url: url.href, poolSize: 1 }, logger);
    try {
      const answers = createDatabaseWait(logger, new AbortController().signal)(() => database.verify());
      await assert.rejects(answers, /password authentication failed/);
    } finally {
      await database.close();
    }
  });
});
