/** The ports of a Temporal server whose services all run in one process on this machine. */
import { findFreePort } from '../../src/standalone/ports.ts';

const NAMES = [
  'FRONTEND_GRPC_PORT',
  'FRONTEND_HTTP_PORT',
  'FRONTEND_MEMBERSHIP_PORT',
  'MATCHING_GRPC_PORT',
  'MATCHING_MEMBERSHIP_PORT',
  'HISTORY_GRPC_PORT',
  'HISTORY_MEMBERSHIP_PORT',
  'WORKER_GRPC_PORT',
  'WORKER_MEMBERSHIP_PORT',
];

export interface TemporalPorts {
  /** The frontend's. */
  readonly frontend: number;
  /** What sets all of them: inside a container each has its usual port. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Free ports. Temporal stores its own in a smallint, and these are small enough. */
export async function findTemporalPorts(): Promise<TemporalPorts> {
  const frontend = await findFreePort();
  const environment: Record<string, string> = {};
  for (const name of NAMES) environment[name] = String(name === NAMES[0] ? frontend : await findFreePort());
  return { frontend, environment };
}
