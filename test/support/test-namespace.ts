/**
 * A Temporal namespace for one test file, on the run's server. Our task queues have fixed names, so a namespace of
 * its own separates a file's workflows from another file's workers.
 */
import { randomBytes } from 'node:crypto';
import { Client } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { silentLogger } from '../../src/telemetry/log.ts';
import { prepareNamespace } from '../../src/temporal/prepare-namespace.ts';
import { waitFor } from '@darkroom/testing/wait-for';

export interface TestNamespace {
  readonly name: string;
  readonly connection: NativeConnection;
  readonly client: Client;
  close(): Promise<void>;
}

/** The address of the run's Temporal server. */
export function temporalAddress(): string {
  const address = process.env['DARKROOM_TEST_TEMPORAL_ADDRESS'];
  if (address === undefined) throw new Error('no test services: run this file with npm test -- <file>');
  return address;
}

/**
 * Creates a namespace with our search attributes, and waits until it can be used.
 *
 * @param address of a Temporal server; default: the run's.
 */
export async function createTestNamespace(address = temporalAddress()): Promise<TestNamespace> {
  const name = `test-${randomBytes(6).toString('hex')}`;
  const connection = await NativeConnection.connect({ address });
  await prepareNamespace(connection, { address, namespace: name, apiKey: undefined, tls: undefined }, silentLogger());
  const client = new Client({ connection, namespace: name, identity: 'test' });
  // A new namespace is not known to every part of the server at once.
  await waitFor(`the namespace ${name} is known`, () =>
    client.workflow.count().then(
      () => true,
      () => false,
    ),
  );
  return { name, connection, client, close: () => connection.close() };
}
