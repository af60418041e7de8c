/**
 * Temporal as an operator with several machines runs it: its four services on hosts of their own, and a PostgreSQL that
 * only they use. The settings are those of docker-compose.yml.
 */
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import path from 'node:path';
import { Connection } from '@temporalio/client';
import { composeImage } from '../deploy/compose-file.ts';
import { DYNAMIC_CONFIG } from '../deploy/native-topology.ts';
import { obtainTemporalPrograms, setUpTemporalSchema, whyNoTemporalPrograms } from '../deploy/temporal-programs.ts';
import { POSTGRES_PORT } from './postgres.ts';
import { untilSuccess } from './service.ts';
import type { Service } from './service.ts';

const [, VERSION] = composeImage('temporal');
const FRONTEND_PORT = 7233;
const CALL_TIMEOUT_MS = 2_000;
/** Few, because the hosts share one machine; it cannot be changed later. */
const SHARDS = 16;
/** How soon it sees that a release of workers has no open task left; by default that takes six minutes. */
const DRAINAGE = `
matching.wv.VersionDrainageStatusVisibilityGracePeriod:
  - value: 10s
matching.wv.VersionDrainageStatusRefreshInterval:
  - value: 5s
`;

/** Each service with the port on which others of its cluster find it. */
const MEMBERSHIP_PORTS = { frontend: 6933, history: 6934, matching: 6935, worker: 6939 } as const;
type TemporalService = keyof typeof MEMBERSHIP_PORTS;
export const TEMPORAL_HOSTS = [
  'temporal-frontend',
  'temporal-history',
  'temporal-matching',
  'temporal-worker',
] as const;
export type TemporalHost = (typeof TEMPORAL_HOSTS)[number];

export interface TemporalDatabase {
  /** Of the host of its PostgreSQL. */
  readonly address: string;
  readonly password: string;
}

export interface TemporalCluster {
  /** Of its frontend, with the port. */
  readonly address: string;
  /** Creates the databases and their tables; the services start after it. */
  setUp(): Promise<void>;
  service(name: TemporalHost, hostAddress: string): Service;
}

/** Why it is not available here, for the `skip` of a test; false if it is. */
export function whyNoTemporalServices(): string | false {
  return whyNoTemporalPrograms(VERSION);
}

/** @param directory where its configuration is written. */
export async function provideTemporal(
  frontendAddress: string,
  database: TemporalDatabase,
  directory: string,
): Promise<TemporalCluster> {
  const programs = await obtainTemporalPrograms(VERSION);
  const dynamicConfig = path.join(directory, 'temporal-dynamic-config.yaml');
  await writeFile(dynamicConfig, (await readFile(DYNAMIC_CONFIG, 'utf8')) + DRAINAGE);
  const address = `${frontendAddress}:${FRONTEND_PORT}`;
  return {
    address,
    setUp: () =>
      setUpTemporalSchema(programs, {
        SQL_PLUGIN: 'postgres12',
        SQL_HOST: database.address,
        SQL_PORT: String(POSTGRES_PORT),
        SQL_USER: 'darkroom',
        SQL_PASSWORD: database.password,
      }),
    service(name, hostAddress) {
      // The hosts are named after them.
      const service = name.slice('temporal-'.length) as TemporalService;
      return {
        launch: () => ({
          command: path.join(programs, 'temporal-server'),
          args: ['start', '--service', service],
          environment: {
            PATH: process.env['PATH'],
            DB: 'postgres12',
            POSTGRES_SEEDS: database.address,
            DB_PORT: String(POSTGRES_PORT),
            POSTGRES_USER: 'darkroom',
            POSTGRES_PWD: database.password,
            NUM_HISTORY_SHARDS: String(SHARDS),
            BIND_ON_IP: hostAddress,
            PUBLIC_FRONTEND_ADDRESS: address,
            DYNAMIC_CONFIG_FILE_PATH: dynamicConfig,
            LOG_LEVEL: 'warn',
          },
        }),
        ready: (signal) =>
          untilSuccess(
            () => (service === 'frontend' ? callFrontend(address) : canConnect(hostAddress, MEMBERSHIP_PORTS[service])),
            signal,
          ),
      };
    },
  };
}

async function callFrontend(address: string): Promise<void> {
  const connection = await Connection.connect({
    address,
    connectTimeout: CALL_TIMEOUT_MS,
    channelArgs: { 'grpc.enable_http_proxy': 0 },
  });
  try {
    await connection.withDeadline(Date.now() + CALL_TIMEOUT_MS, () => connection.workflowService.getClusterInfo({}));
  } finally {
    await connection.close();
  }
}

async function canConnect(host: string, port: number): Promise<void> {
  const socket = connect({ host, port, timeout: CALL_TIMEOUT_MS });
  try {
    await once(socket, 'connect');
  } finally {
    socket.destroy();
  }
}
