/**
 * `migrate` with credentials that may not prepare Temporal: it prints exactly what to run and fails; the printed
 * commands, run by an authorized user, do all that is missing. And a start that such a server rejects is counted
 * separately. In a namespace that has search attributes with our names and a different type every start would be
 * rejected, so it reports the conflict, and creates nothing there.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import { Client, ScheduleNotFoundError } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { NativeConnection } from '@temporalio/worker';
import { pino } from 'pino';
import { runMigrate } from '../../src/commands/migrate.ts';
import { TemporalUnreachableError } from '../../src/temporal/connection.ts';
import { conflictStep, namespaceStep, searchAttributesStep } from '../../src/temporal/manual-steps.ts';
import { prepareNamespace } from '../../src/temporal/prepare-namespace.ts';
import { rejectionOf } from '../../src/temporal/rejections.ts';
import { readInstallationId } from '../../src/database/migrate.ts';
import { scheduleIds } from '../../src/temporal/schedules.ts';
import { createWorkflowGateway } from '../../src/temporal/workflow-gateway.ts';
import { startForbiddingProxy } from '../support/forbidding-proxy.ts';
import type { ForbiddingProxy } from '../support/forbidding-proxy.ts';
import { printedSteps, runStep } from '../support/manual-steps.ts';
import { programEnvironment } from '../support/pooled-run.ts';
import { makeCertificate } from '../support/test-certificate.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { createTestNamespace, temporalAddress } from '../support/test-namespace.ts';
import { waitFor } from '@darkroom/testing/wait-for';

const NAMESPACE_METHODS = ['DescribeNamespace', 'RegisterNamespace', 'UpdateNamespace', 'CountWorkflowExecutions'];
const ATTRIBUTE_METHODS = ['ListSearchAttributes', 'AddSearchAttributes'];

/** temporal.api.enums.v1.IndexedValueType */
const [TEXT, INT, DATETIME] = [1, 3, 6];

const newNamespace = (): string => `test-${randomBytes(6).toString('hex')}`;

/**
 * With a connection of its own, which is closed again: `migrate` installs the SDK's runtime, which must happen before
 * any connection.
 */
async function connected<T>(
  work: (connection: NativeConnection) => Promise<T>,
  address = temporalAddress(),
): Promise<T> {
  const connection = await NativeConnection.connect({ address });
  try {
    return await work(connection);
  } finally {
    await connection.close();
  }
}

/** Otherwise their server would continue to start the installation's passes. */
async function removeSchedules({ database }: TestDatabase, namespace: string): Promise<void> {
  const ids = scheduleIds(await readInstallationId(database));
  await connected(async (connection) => {
    const { schedule } = new Client({ connection, namespace });
    await Promise.all(ids.map((id) => schedule.getHandle(id).delete()));
  });
}

const succeeds = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => true,
    () => false,
  );

/** A new namespace in which another user has created search attributes. */
async function makeNamespace(searchAttributes: Record<string, number>): Promise<string> {
  const namespace = newNamespace();
  await connected(async ({ workflowService, operatorService }) => {
    await workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod: msToTs('30 days') });
    await waitFor('the namespace is known', () =>
      succeeds(operatorService.addSearchAttributes({ namespace, searchAttributes })),
    );
  });
  return namespace;
}

describe('migrate without permission to prepare Temporal', () => {
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
      ...programEnvironment(database.url),
      TEMPORAL_ADDRESS: proxy.address,
      TEMPORAL_NAMESPACE: namespace,
      LOG_LEVEL: 'silent',
    });

  const printed = (): Promise<ReadonlyMap<string, string>> => printedSteps(migrate());

  /** Runs them as an authorized user: directly at the server. */
  async function runAll(commands: Iterable<string>): Promise<void> {
    for (const command of commands) await runStep(command.replace(proxy.address, temporalAddress()));
  }

  it('prints a command for the namespace, the attributes and each schedule, and these are sufficient', async () => {
    namespace = newNamespace();
    proxy.forbid(...NAMESPACE_METHODS, ...ATTRIBUTE_METHODS, 'CreateSchedule', 'UpdateSchedule');

    const commands = await printed();

    assert.equal(commands.size, 2 + ids.length);
    const [ofNamespace = '', ...others] = commands.values();
    await runAll([ofNamespace]);
    await waitFor('the namespace is known', () => succeeds(runAll(others.slice(0, 1))));
    await runAll(others.slice(1));
    // It may read by now, but still not change anything.
    proxy.forbid('UpdateNamespace', ...ATTRIBUTE_METHODS, 'CreateSchedule', 'UpdateSchedule');
    await waitFor('all of it is seen', () => succeeds(migrate()));
    await removeSchedules(database, namespace);
  });

  it('prints only what is missing', async () => {
    namespace = newNamespace();
    proxy.forbid('AddSearchAttributes');
    assert.deepEqual(
      [...(await printed()).keys()].map((what) => what.split(' ').slice(0, 3).join(' ')),
      ['the search attributes'],
    );
    await removeSchedules(database, namespace);

    proxy.forbid(...ATTRIBUTE_METHODS, 'CreateSchedule');
    const [attributes, ...schedules] = (await printed()).keys();
    assert.match(attributes ?? '', /^the search attributes AccountId|^the search attributes TaskStatus/);
    assert.deepEqual(
      schedules.map((what) => what.replace('the schedule ', '')),
      ids,
    );
  });

  it('reports that the credentials are rejected when nothing at all is allowed', async () => {
    proxy.forbid('GetSystemInfo');
    await assert.rejects(migrate(), {
      name: 'TemporalUnreachableError',
      message: new RegExp(
        `^the Temporal server at ${proxy.address} rejects our credentials \\(permission_denied\\). Set TEMPORAL_API_KEY, .*not allowed`,
      ),
    });
  });

  it('names a start that is denied for such a reason', async () => {
    await connected(async (connection) => {
      const rejectionIn = (namespace: string): Promise<unknown> =>
        createWorkflowGateway(new Client({ connection, namespace }), 'inst_one')
          .startPromotion('output', 'account')
          .catch((error: unknown) => rejectionOf(error));

      assert.equal(await rejectionIn(namespace), 'invalid_argument');
      assert.equal(await rejectionIn('nowhere'), 'not_found');
    });
  });

  it('prints an update that leaves a paused schedule paused, with its note', async () => {
    const note = "the ledger is closed: it's the auditors' week";
    const scheduleId = ids.find((id) => id.endsWith('meter-storage')) ?? '';
    const made = await createTestNamespace();
    namespace = made.name;
    await made.client.schedule.create({
      scheduleId,
      spec: { intervals: [{ every: '60 minutes' }] },
      action: { type: 'startWorkflow', workflowType: 'meterStorage', taskQueue: 'elsewhere', args: [] },
      state: { paused: true, note },
    });
    // `migrate` installs the SDK's runtime, which needs the connection to be closed.
    await made.close();
    proxy.forbid('UpdateSchedule');

    await runAll((await printed()).values());
    await migrate();

    const { action, state } = await connected((connection) =>
      new Client({ connection, namespace }).schedule.getHandle(scheduleId).describe(),
    );
    assert.notEqual(action.taskQueue, 'elsewhere');
    assert.deepEqual([state.paused, state.note], [true, note]);
    await removeSchedules(database, namespace);
  });

  it('names search attributes of another type, and creates nothing until they are removed', async () => {
    namespace = await makeNamespace({ AccountId: INT, Model: TEXT });

    const steps = await printed();

    assert.deepEqual(
      [...steps.keys()],
      [
        'the search attribute AccountId, which is of type Int and has to be of type Keyword',
        'the search attribute Model, which is of type Text and has to be of type Keyword',
      ],
    );
    await assert.rejects(migrate(), /every start would be rejected\. .*TEMPORAL_NAMESPACE/);
    await connected(async (connection) => {
      const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
      assert.deepEqual(Object.keys(customAttributes ?? {}).toSorted(), ['AccountId', 'Model']);
      const { schedule } = new Client({ connection, namespace });
      for (const id of ids) {
        await assert.rejects(schedule.getHandle(id).describe(), ScheduleNotFoundError);
      }
    });

    await runAll([...steps.values()].map((command) => `${command} --yes`));
    await migrate();
    await connected(async (connection) => {
      const gateway = createWorkflowGateway(new Client({ connection, namespace }), 'inst_one');
      await waitFor('a start is accepted', () => succeeds(gateway.startPromotion('output', 'account')));
    });
    await removeSchedules(database, namespace);
  });

  it('does not detect these when listing is forbidden: a warning says how to check, and the step names the possible cause', async () => {
    const namespace = await makeNamespace({ AccountId: DATETIME });
    const lines: string[] = [];
    const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
    const config = { address: proxy.address, namespace, apiKey: undefined, tls: undefined };
    proxy.forbid('ListSearchAttributes', 'AddSearchAttributes');

    const { steps } = await connected((connection) => prepareNamespace(connection, config, logger), proxy.address);

    assert.match(steps[0]?.what ?? '', /^the search attributes .*AccountId.*one that already exists .*type Keyword$/);
    assert.match(lines.join('\n'), /temporal operator search-attribute list .*types .* cannot be seen/);
  });
});

describe('migrate with a private CA, a client certificate and an API key', () => {
  const API_KEY = 'a key of this run';
  let database: TestDatabase;
  let proxy: ForbiddingProxy;
  let directory: string;
  let credentials: NodeJS.ProcessEnv;
  before(async () => {
    directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-credentials-'));
    const [server, client] = [makeCertificate('Temporal'), makeCertificate('an operator')];
    credentials = {
      TEMPORAL_API_KEY: API_KEY,
      TEMPORAL_TLS_CA_FILE: await written('ca of all servers.pem', server.cert),
      TEMPORAL_TLS_CERT_FILE: await written('operator.pem', client.cert),
      TEMPORAL_TLS_KEY_FILE: await written('operator.key', client.key),
    };
    database = await createTestDatabase();
    proxy = await startForbiddingProxy(temporalAddress(), { server, clientCa: client.cert, apiKey: API_KEY });
  });
  after(async () => {
    proxy.close();
    await database.close();
    await rm(directory, { recursive: true });
  });

  async function written(name: string, text: string): Promise<string> {
    const file = path.join(directory, name);
    await writeFile(file, text);
    return file;
  }

  it('prints commands that use the credentials of the shell, and reveal no secret', async () => {
    const namespace = newNamespace();
    const server = { TEMPORAL_ADDRESS: proxy.address, TEMPORAL_NAMESPACE: namespace, ...credentials };
    proxy.forbid(...NAMESPACE_METHODS);

    const migration = runMigrate({ ...programEnvironment(database.url), LOG_LEVEL: 'silent', ...server });
    const commands = [...(await printedSteps(migration)).values()];
    const [ofNamespace = '', ...others] = commands;

    assert.equal(commands.join('\n').includes(API_KEY), false);
    proxy.forbid();
    await runStep(ofNamespace, credentials);
    for (const command of others)
      await waitFor('the namespace is known', () => succeeds(runStep(command, credentials)));
    for (const missing of Object.keys(credentials)) {
      const others = { ...credentials, [missing]: undefined };
      await assert.rejects(runStep(ofNamespace, others), new RegExp(`${missing}: parameter .*not set`));
    }
    await removeSchedules(database, namespace);
  });

  it('reports which of the credentials to check when they are rejected or TLS fails, and why', async () => {
    const rejected = async (changes: NodeJS.ProcessEnv): Promise<string> => {
      const server = { TEMPORAL_ADDRESS: proxy.address, ...credentials, ...changes };
      const migration = runMigrate({ ...programEnvironment(database.url), LOG_LEVEL: 'silent', ...server });
      const error = await migration.then(
        () => undefined,
        (failure: unknown) => failure,
      );
      assert.ok(error instanceof TemporalUnreachableError, String(error));
      return error.message;
    };
    const other = await written('another CA.pem', makeCertificate('another').cert);

    const ofWrongKey = await rejected({ TEMPORAL_API_KEY: 'a key that was revoked' });
    const ofOtherCa = await rejected({ TEMPORAL_TLS_CA_FILE: other });

    assert.match(
      ofWrongKey,
      /rejects our credentials \(unauthenticated\)\. Check TEMPORAL_API_KEY and TEMPORAL_TLS_CERT_/,
    );
    assert.equal(ofWrongKey.includes('a key that was revoked'), false);
    assert.match(ofOtherCa, /^TLS with the Temporal server at .* fails\. Check TEMPORAL_TLS_CA_FILE.*UnknownIssuer/);
  });
});

describe('commands for Temporal Cloud', () => {
  const tls = { certificate: Buffer.from('a certificate'), key: Buffer.from('its key') };
  const byKey = {
    address: 'eu-west-1.aws.api.temporal.io:7233',
    namespace: 'images.a1b2c',
    apiKey: 'a key',
    tls: {},
  } as const;
  const byCertificate = { ...byKey, address: 'images.a1b2c.tmprl.cloud:7233', apiKey: undefined, tls };

  // The flags are those of temporalio/tcld, app/namespace.go: its default is mTLS on AWS, and mTLS needs the CA.
  it('create a namespace for the kind of credentials that are configured', () => {
    const CREATE = 'tcld namespace create --namespace images --retention-days 30';
    assert.equal(
      namespaceStep(byKey, 30).command,
      `${CREATE} --cloud-provider aws --region eu-west-1 --auth-method api_key`,
    );
    assert.equal(
      namespaceStep(byCertificate, 30).command,
      `${CREATE} --cloud-provider <provider> --region <region> --auth-method mtls --ca-certificate-file <ca.pem>`,
    );
    assert.equal(
      namespaceStep({ ...byKey, address: 'us-central1.gcp.api.temporal.io:7233', tls }, 30).command,
      `${CREATE} --cloud-provider gcp --region us-central1 --auth-method api_key_or_mtls --ca-certificate-file <ca.pem>`,
    );
  });

  it('add search attributes to the namespace by its whole id', () => {
    assert.equal(
      searchAttributesStep(byCertificate, ['Model', 'Route']).command,
      'tcld namespace search-attributes add --namespace images.a1b2c --search-attribute Model=Keyword --search-attribute Route=Keyword',
    );
  });

  it('rename a conflicting search attribute', () => {
    assert.equal(
      conflictStep(byKey, { name: 'Model', type: 'Text', expected: 'Keyword' }).command,
      'tcld namespace search-attributes rename --namespace images.a1b2c --existing-name Model --new-name <name>',
    );
  });

  it('are not printed for a server with a similar name', () => {
    const server = { ...byKey, address: 'api.temporal.io.example.com:7233', namespace: "it's", apiKey: undefined };
    const { command } = namespaceStep(server, 30);
    assert.match(command, /^temporal operator namespace create .*--namespace 'it'\\''s' .* --tls$/);
  });
});
