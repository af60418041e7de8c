/**
 * A Temporal namespace for one test file, on the run's server. Our task queues have fixed names, so a namespace of its
 * own is what keeps a file's workflows from another file's workers.
 */
import { randomBytes } from 'node:crypto';
import { Client } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { silentLogger } from '../../src/telemetry/log.ts';
import { prepareNamespace } from '../../src/temporal/prepare-namespace.ts';
import { temporalAddress } from './darkroom.ts';

export interface TestNamespace {
  readonly name: string;
  readonly connection: NativeConnection;
  readonly client: Client;
  close(): Promise<void>;
}

/** A namespace just made is not known to every part of the server at once. */
const KNOWN_WITHIN_MS = 20_000;

/** Makes a namespace with our search attributes, and waits until it can be used. */
export async function createTestNamespace(): Promise<TestNamespace> {
  const name = `test-${randomBytes(6).toString('hex')}`;
  const address = temporalAddress();
  const connection = await NativeConnection.connect({ address });
  await prepareNamespace(connection, { address, namespace: name, apiKey: undefined, tls: undefined }, silentLogger());
  const client = new Client({ connection, namespace: name, identity: 'test' });
  const deadline = Date.now() + KNOWN_WITHIN_MS;
  for (;;) {
    try {
      await client.workflow.count();
      return { name, connection, client, close: () => connection.close() };
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}
