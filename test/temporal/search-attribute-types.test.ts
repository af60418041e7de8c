/**
 * `migrate` in a namespace that has search attributes with our names and a different type: every start would be
 * rejected, so it reports the conflict, and creates nothing there.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { Client, ScheduleNotFoundError } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { NativeConnection } from '@temporalio/worker';
import { pino } from 'pino';
import { runMigrate } from '../../src/commands/migrate.ts';
import { readInstallationId } from '../../src/database/migrate.ts';
import { prepareNamespace } from '../../src/temporal/prepare-namespace.ts';
import { scheduleIds } from '../../src/temporal/schedules.ts';
import { createWorkflowGateway } from '../../src/temporal/workflow-gateway.ts';
import { startForbiddingProxy } from '../support/forbidding-proxy.ts';
import type { ForbiddingProxy } from '../support/forbidding-proxy.ts';
import { printedSteps, runStep } from '../support/manual-steps.ts';
import { programEnvironment } from '../support/pooled-run.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { temporalAddress } from '../support/test-namespace.ts';
import { waitFor } from '@darkroom/testing/wait-for';

/** temporal.api.enums.v1.IndexedValueType */
const [TEXT, INT, DATETIME] = [1, 3, 6];

const succeeds = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => true,
    () => false,
  );

/**
 * With a connection of its own, which is closed again: `migrate` installs the SDK's runtime, which must happen before
 * any connection.
 */
async function connected<T>(address: string, work: (connection: NativeConnection) => Promise<T>): Promise<T> {
  const connection = await NativeConnection.connect({ address });
  try {
    return await work(connection);
  } finally {
    await connection.close();
  }
}

/** A new namespace in which another user has created search attributes. */
async function makeNamespace(searchAttributes: Record<string, number>): Promise<string> {
  const namespace = `test-${randomBytes(6).toString('hex')}`;
  await connected(temporalAddress(), async ({ workflowService, operatorService }) => {
    await workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod: msToTs('30 days') });
    await waitFor('the namespace is known', () =>
      succeeds(operatorService.addSearchAttributes({ namespace, searchAttributes })),
    );
  });
  return namespace;
}

describe('search attributes of another type', () => {
  let database: TestDatabase;
  let proxy: ForbiddingProxy;
  let installationId: string;
  before(async () => {
    database = await createTestDatabase();
    installationId = await readInstallationId(database.database);
    proxy = await startForbiddingProxy(temporalAddress());
  });
  after(async () => {
    proxy.close();
    await database.close();
  });

  const migrate = (namespace: string): Promise<void> =>
    runMigrate({
      ...programEnvironment(database.url),
      TEMPORAL_ADDRESS: temporalAddress(),
      TEMPORAL_NAMESPACE: namespace,
      LOG_LEVEL: 'silent',
    });

  it('stop migrate, which names them and creates nothing until they are removed', async () => {
    const namespace = await makeNamespace({ AccountId: INT, Model: TEXT });

    const steps = await printedSteps(migrate(namespace));

    assert.deepEqual(
      [...steps.keys()],
      [
        'the search attribute AccountId, which is of type Int and has to be of type Keyword',
        'the search attribute Model, which is of type Text and has to be of type Keyword',
      ],
    );
    await assert.rejects(migrate(namespace), /every start would be rejected\. .*TEMPORAL_NAMESPACE/);
    await connected(temporalAddress(), async (connection) => {
      const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
      assert.deepEqual(Object.keys(customAttributes ?? {}).toSorted(), ['AccountId', 'Model']);
      const { schedule } = new Client({ connection, namespace });
      for (const id of scheduleIds(installationId)) {
        await assert.rejects(schedule.getHandle(id).describe(), ScheduleNotFoundError);
      }
    });

    for (const command of steps.values()) await runStep(`${command} --yes`);
    await migrate(namespace);
    await connected(temporalAddress(), async (connection) => {
      const client = new Client({ connection, namespace });
      const gateway = createWorkflowGateway(client, installationId);
      await waitFor('a start is accepted', () => succeeds(gateway.startPromotion('output', 'account')));
      await Promise.all(scheduleIds(installationId).map((id) => client.schedule.getHandle(id).delete()));
    });
  });

  it('are not detected when listing is forbidden: a warning says how to check, and the step names the possible cause', async () => {
    const namespace = await makeNamespace({ AccountId: DATETIME });
    const lines: string[] = [];
    const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
    const config = { address: proxy.address, namespace, apiKey: undefined, tls: undefined };
    proxy.forbid('ListSearchAttributes', 'AddSearchAttributes');

    const { steps } = await connected(proxy.address, (connection) => prepareNamespace(connection, config, logger));

    assert.match(steps[0]?.what ?? '', /^the search attributes .*AccountId.*one that already exists .*type Keyword$/);
    assert.match(lines.join('\n'), /temporal operator search-attribute list .*types .* cannot be seen/);
  });
});
