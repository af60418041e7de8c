/** How the bench starts its Node processes: our roles from `dist`, as they are deployed, and its own from source. */
import { randomBytes } from 'node:crypto';
import { packageFile, packageModule } from '../../../src/config/package-root.ts';
import type { Launch } from '../../../src/standalone/processes.ts';

/** Nothing listens there. */
const NO_TEMPORAL = '127.0.0.1:1';

/** Only the variables of our own environment that a process needs. */
function surroundings(): NodeJS.ProcessEnv {
  // oxlint-disable-next-line node/no-process-env -- child processes need PATH and HOME
  const { PATH, HOME, TMPDIR } = process.env;
  return { PATH, HOME, ...(TMPDIR === undefined ? {} : { TMPDIR }) };
}

export interface RoleOptions {
  readonly databaseUrl: string;
  /** If absent, there is no Temporal, and tasks stay as they are. */
  readonly temporalAddress?: string;
  readonly storeDirectory: string;
  /** The api's. */
  readonly port: number;
}

/** The environment of the api and the workers of one installation; the models are those of test/bench/models. */
export function roleEnvironment(options: RoleOptions): Readonly<Record<string, string>> {
  const { databaseUrl, temporalAddress = NO_TEMPORAL, storeDirectory, port } = options;
  return {
    DATABASE_URL: databaseUrl,
    TEMPORAL_ADDRESS: temporalAddress,
    STORE_URL: `file://${storeDirectory}`,
    MODELS_DIR: packageFile('test/bench/models'),
    PORT: String(port),
    PUBLIC_URL: `http://127.0.0.1:${port}`,
    URL_SIGNING_KEY: randomBytes(24).toString('hex'),
    ENCRYPTION_KEY: randomBytes(24).toString('hex'),
    SHUTDOWN_GRACE_SECONDS: '3',
    // All clients of a bench come from one address.
    MAX_CONNECTIONS: '0',
    MAX_CONNECTIONS_PER_ADDRESS: '0',
  };
}

/** @param profileDirectory the directory for a CPU profile, written when the process ends. */
export function roleLaunch(
  role: 'api' | 'worker',
  environment: Readonly<Record<string, string>>,
  profileDirectory: string | undefined,
): Launch {
  const profiling = profileDirectory === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileDirectory}`];
  return {
    command: process.execPath,
    args: [...profiling, packageFile('dist/src/main.js'), role],
    environment: { ...surroundings(), ...environment },
    hasChannel: true,
  };
}

/** A process of the bench's own, which generates load. @param file below test/bench/. */
export function loadLaunch(file: string, args: readonly string[]): Launch {
  return {
    command: process.execPath,
    args: [packageModule(`test/bench/${file}`), ...args],
    environment: surroundings(),
    hasChannel: true,
  };
}

export { surroundings };
