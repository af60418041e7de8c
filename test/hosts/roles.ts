/** The roles of Darkroom, each on a host of its own, and how their processes are started. */
import { builtProgram } from '../support/built-program.ts';
import type { Launch } from '../../src/standalone/processes.ts';
import { DRAIN_SECONDS } from './proxy.ts';

export const API_PORT = 8080;
/** What clients reach: what ends TLS, in front of the proxy. */
const PUBLIC_URL = 'https://darkroom.test';

/** What each worker serves. */
const ROLES = {
  'api-1': undefined,
  'api-2': undefined,
  'generation-1': 'media,generation,waiting',
  'generation-2': 'media,generation,waiting',
  'archive-1': 'media,archiving,maintenance,callbacks',
} as const;
export type RoleName = keyof typeof ROLES;

export function roleNames(): readonly RoleName[] {
  // The keys of an object literal are those of its type.
  return Object.keys(ROLES) as RoleName[];
}

export function isApi(name: RoleName): boolean {
  return ROLES[name] === undefined;
}

/** What a role runs: a build, and what its workers are called in Temporal (docs/decisions/0025). */
export interface Release {
  readonly buildId: string;
  /** The command that takes the role as its last argument. */
  readonly program: readonly string[];
}

export const FIRST_BUILD_ID = '1.0.0';

export function firstRelease(): Release {
  return { buildId: FIRST_BUILD_ID, program: [process.execPath, ...builtProgram()] };
}

export interface RolePlace {
  readonly address: string;
  /** Of the proxy. */
  readonly proxyAddress: string;
  readonly scratchDirectory: string;
}

/** @param shared what all of them have in common. */
export function roleEnvironment(
  name: RoleName,
  { address, proxyAddress, scratchDirectory }: RolePlace,
  shared: NodeJS.ProcessEnv,
): NodeJS.ProcessEnv {
  const queues = ROLES[name];
  return {
    PATH: process.env['PATH'],
    HOME: process.env['HOME'],
    ...shared,
    PUBLIC_URL,
    SCRATCH_DIR: scratchDirectory,
    UPSTREAM_TEST_KEY: 'test-key',
    CALLBACK_OFFSETS_SECONDS: '0,1,2,4,8,16',
    SHUTDOWN_GRACE_SECONDS: '5',
    UPSTREAM_GRACE_SECONDS: '30',
    ENGINE_THREADS: '1',
    // A host that vanishes is noticed by time-outs alone.
    DARKROOM_TEST_TIME_OUTS: '1',
    ...(queues === undefined
      ? { HOST: address, PORT: String(API_PORT), TRUSTED_PROXIES: proxyAddress, DRAIN_SECONDS: String(DRAIN_SECONDS) }
      : { WORKER_QUEUES: queues }),
  };
}

export function roleLaunch(name: RoleName, { buildId, program }: Release, environment: NodeJS.ProcessEnv): Launch {
  const [command = process.execPath, ...args] = program;
  return {
    command,
    args: [...args, isApi(name) ? 'api' : 'worker'],
    environment: { ...environment, WORKER_BUILD_ID: buildId },
    hasChannel: true,
  };
}
