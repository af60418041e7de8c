/**
 * A second installation in the same Temporal namespace (docs/decisions/0006): the same program with a database, a
 * store, secrets and a provider's key of its own. It exists for a trial, and leaves nothing behind in Temporal.
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp } from 'node:fs/promises';
import path from 'node:path';
import { clusterUrl } from '../../../src/standalone/postgres.ts';
import type { Cluster } from '../../../src/standalone/postgres.ts';
import { reservePort } from '../../support/reserve-port.ts';
import { readInstallationId } from '../../../src/database/migrate.ts';
import { ensureSchedules } from '../../../src/temporal/schedules.ts';
import { createTestDatabase } from '../../support/test-database.ts';
import type { TestNamespace } from '../../support/test-namespace.ts';
import { createWorldAccount } from './accounts.ts';
import type { WorldAccount } from './accounts.ts';
import type { Part } from './part.ts';
import { rolePart } from './parts.ts';

/** It identifies the caller to the provider. */
export const NEIGHBOUR_KEY = 'key-of-the-neighbour';

export interface Neighbour {
  readonly apiUrl: string;
  readonly account: WorldAccount;
  stop(): Promise<void>;
}

export interface NeighbourOptions {
  readonly directory: string;
  readonly program: string;
  readonly cluster: Cluster;
  readonly namespace: TestNamespace;
  readonly temporalAddress: string;
  readonly modelsDirectory: string;
  readonly providerUrl: string;
  /** Called with its processes, so that they end with the world. */
  readonly add: (part: Part) => Part;
}

const MICRO_USD = 10_000_000n;

/** The caller must call `stop`. */
export async function startNeighbour(options: NeighbourOptions): Promise<Neighbour> {
  const { directory, program, cluster, namespace, temporalAddress, modelsDirectory, providerUrl, add } = options;
  // Of its own each time: a store belongs to one installation for good.
  const own = await mkdtemp(path.join(directory, 'neighbour-'));
  const at = (name: string): string => path.join(own, name);
  const testDatabase = await createTestDatabase(undefined, clusterUrl(cluster, 'postgres'));
  const { database } = testDatabase;
  const installationId = await readInstallationId(database);
  const { schedule } = namespace.client;
  await ensureSchedules(namespace.client, installationId);
  const port = await reservePort();
  const apiUrl = `http://127.0.0.1:${port}`;
  const environment = {
    URL_SIGNING_KEY: randomBytes(24).toString('hex'),
    ENCRYPTION_KEY: randomBytes(24).toString('hex'),
    STORE_URL: `file://${at('store')}`,
    DATABASE_URL: testDatabase.url,
    TEMPORAL_ADDRESS: temporalAddress,
    TEMPORAL_NAMESPACE: namespace.name,
    MODELS_DIR: modelsDirectory,
    SCRATCH_DIR: at('scratch'),
    UPSTREAM_CHAOS_KEY: NEIGHBOUR_KEY,
    PORT: String(port),
    PUBLIC_URL: apiUrl,
    EGRESS_ALLOW: providerUrl,
    SHUTDOWN_GRACE_SECONDS: '5',
    ENGINE_THREADS: '1',
  };
  const parts = (['api', 'worker'] as const).map((role) =>
    add(rolePart(`neighbour-${role}`, role, program, environment, at(`${role}.log`))),
  );
  await Promise.all(parts.map((part) => part.start()));
  return {
    apiUrl,
    account: await createWorldAccount(database, 'neighbour', MICRO_USD),
    async stop() {
      for await (const { scheduleId } of schedule.list()) {
        if (scheduleId.startsWith(installationId)) await schedule.getHandle(scheduleId).delete();
      }
      await Promise.all(parts.map((part) => part.stop()));
      await testDatabase.close();
    },
  };
}
