/**
 * `migrate` with credentials that may not prepare Temporal: it prints exactly what to run and fails; what it printed, run by
 * somebody who may, is all that is missing. And a start that such a server refuses is counted apart.
 */
import assert from 'node:assert/strict';
import { exec } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { Client } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { runMigrate } from '../../src/commands/migrate.ts';
import { ManualStepsError, namespaceStep, searchAttributesStep } from '../../src/temporal/manual-steps.ts';
import { refusalOf } from '../../src/temporal/refusals.ts';
import { readInstallationId } from '../../src/database/migrate.ts';
import { scheduleIds } from '../../src/temporal/schedules.ts';
import { createWorkflowGateway } from '../../src/temporal/workflow-gateway.ts';
import { startForbiddingProxy } from '../support/forbidding-proxy.ts';
import type { ForbiddingProxy } from '../support/forbidding-proxy.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { temporalAddress } from '../support/test-namespace.ts';
import { until } from '../support/until.ts';

const run = promisify(exec);
const NAMESPACE_METHODS = ['DescribeNamespace', 'RegisterNamespace', 'UpdateNamespace', 'CountWorkflowExecutions'];
const ATTRIBUTE_METHODS = ['ListSearchAttributes', 'AddSearchAttributes'];

const succeeds = (work: Promise<void>): Promise<boolean> =>
  work.then(
    () => true,
    () => false,
  );

describe('migrate, where it may not prepare Temporal', () => {
  let database: TestDatabase;
  let proxy: ForbiddingProxy;
  let namespace: string;
  let ids: readonly string[];
  before(async () => {
    database = await createTestDatabase();
    ids = scheduleIds(await readInstallationId(database.database));
    proxy = await startForbiddingProxy(temporalAddress());
  });
  after(async () => {
    proxy.close();
    await database.close();
  });
  afterEach(() => proxy.forbid());

  const migrate = (): Promise<void> =>
    runMigrate({
      DATABASE_URL: database.url,
      TEMPORAL_ADDRESS: proxy.address,
      TEMPORAL_NAMESPACE: namespace,
      LOG_LEVEL: 'silent',
    });

  /** The commands that it prints, each with what it makes. */
  async function printed(): Promise<ReadonlyMap<string, string>> {
    const error = await migrate().then(
      () => assert.fail('it did not fail'),
      (reason: unknown) => reason,
    );
    assert.ok(error instanceof ManualStepsError, String(error));
    return new Map(
      Array.from(error.message.matchAll(/^# (.+)\n(.+)$/gm), ([, what = '', command = '']) => [what, command]),
    );
  }

  /** Runs them as somebody who may: with the command line of Temporal, at the server itself. */
  async function runAll(commands: Iterable<string>): Promise<void> {
    const cli = process.env['DARKROOM_TEST_TEMPORAL_CLI'];
    assert.ok(cli !== undefined);
    const PATH = `${path.dirname(cli)}${path.delimiter}${process.env['PATH'] ?? ''}`;
    for (const command of commands) {
      await run(command.replace(proxy.address, temporalAddress()), { env: { ...process.env, PATH } });
    }
  }

  async function removeSchedules(): Promise<void> {
    const connection = await NativeConnection.connect({ address: temporalAddress() });
    const { schedule } = new Client({ connection, namespace });
    await Promise.all(ids.map((id) => schedule.getHandle(id).delete()));
    await connection.close();
  }

  it('prints a command for the namespace, the attributes and each schedule, and these are all that it takes', async () => {
    namespace = `test-${randomBytes(6).toString('hex')}`;
    proxy.forbid(...NAMESPACE_METHODS, ...ATTRIBUTE_METHODS, 'CreateSchedule', 'UpdateSchedule');

    const commands = await printed();

    assert.equal(commands.size, 2 + ids.length);
    const [ofNamespace = '', ...others] = commands.values();
    await runAll([ofNamespace]);
    await until('the namespace is known', () => succeeds(runAll(others.slice(0, 1))));
    await runAll(others.slice(1));
    // It may read by now, and still change nothing.
    proxy.forbid('UpdateNamespace', ...ATTRIBUTE_METHODS, 'CreateSchedule', 'UpdateSchedule');
    await until('all of it is seen', () => succeeds(migrate()));
    await removeSchedules();
  });

  it('prints what is missing of what is there, and no more', async () => {
    namespace = `test-${randomBytes(6).toString('hex')}`;
    proxy.forbid('AddSearchAttributes');
    assert.deepEqual(
      [...(await printed()).keys()].map((what) => what.split(' ').slice(0, 3).join(' ')),
      ['the search attributes'],
    );
    await removeSchedules();

    proxy.forbid(...ATTRIBUTE_METHODS, 'CreateSchedule');
    const [attributes, ...schedules] = (await printed()).keys();
    assert.match(attributes ?? '', /^the search attributes AccountId|^the search attributes TaskStatus/);
    assert.deepEqual(
      schedules.map((what) => what.replace('the schedule ', '')),
      ids,
    );
  });

  it('names a start that is refused for such a reason', async () => {
    const connection = await NativeConnection.connect({ address: temporalAddress() });
    const gateway = createWorkflowGateway(new Client({ connection, namespace }), 'inst_one');
    const refused = await gateway.startPromotion('output', 'account').catch((error: unknown) => refusalOf(error));
    assert.equal(refused, 'invalid_argument');

    const nowhere = createWorkflowGateway(new Client({ connection, namespace: 'nowhere' }), 'inst_one');
    assert.equal(await nowhere.startPromotion('o', 'a').catch((error: unknown) => refusalOf(error)), 'not_found');
    await connection.close();
  });
});

describe('what is printed for Temporal Cloud', () => {
  const cloud = { address: 'eu-west-1.aws.api.temporal.io:7233', namespace: 'pictures.a1b2c', tls: {} } as const;

  it('is of its own command line', () => {
    assert.equal(
      namespaceStep(cloud, 30).command,
      'tcld namespace create --namespace pictures --region <region> --retention-days 30',
    );
    assert.equal(
      searchAttributesStep({ ...cloud, address: 'pictures.a1b2c.tmprl.cloud:7233' }, ['Model', 'Route']).command,
      'tcld namespace search-attributes add --namespace pictures.a1b2c --search-attribute Model=Keyword --search-attribute Route=Keyword',
    );
  });

  it('is not for a server whose name only looks like it', () => {
    const { command } = namespaceStep({ ...cloud, address: 'api.temporal.io.example.com:7233', namespace: "it's" }, 30);
    assert.match(command, /^temporal operator namespace create .*--namespace 'it'\\''s' .* --tls$/);
  });
});
