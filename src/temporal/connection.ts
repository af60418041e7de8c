/**
 * The connection to Temporal, for clients and workers alike. `NativeConnection` in both: half the CPU of the pure
 * JavaScript one (measured for this project).
 */
import { Client } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { timeOutMs } from '../config/time-outs.ts';
import type { TemporalConfig } from '../config/connections.ts';
import { connectionProblem } from './rejections.ts';
import { DarkroomError } from '../domain/darkroom-error.ts';

/** Connects. @throws {TransportError} the server cannot be reached at this moment. */
export async function connectTemporal(config: TemporalConfig): Promise<NativeConnection> {
  const { tls } = config;
  return NativeConnection.connect({
    address: config.address,
    ...(config.apiKey === undefined ? {} : { apiKey: config.apiKey }),
    ...(tls === undefined
      ? {}
      : {
          tls: {
            ...(tls.ca === undefined ? {} : { serverRootCACertificate: tls.ca }),
            ...(tls.certificate === undefined || tls.key === undefined
              ? {}
              : { clientCertPair: { crt: tls.certificate, key: tls.key } }),
          },
        }),
  });
}

/** A command that needs Temporal at once cannot reach it, or is rejected by it; the message states which. */
export class TemporalUnreachableError extends DarkroomError {
  override readonly name = 'TemporalUnreachableError';
  override readonly kind = 'unavailable';
}

/** Connects once, for a command that does not wait. @throws {TemporalUnreachableError} */
export async function requireTemporal(config: TemporalConfig): Promise<NativeConnection> {
  try {
    return await connectTemporal(config);
  } catch (error) {
    throw new TemporalUnreachableError(connectionProblem(config, error).message, { cause: error });
  }
}

/** The time limit of a check, in milliseconds: shorter than scrapes and probes wait. */
const CHECK_WITHIN_MS = timeOutMs(2_500);

/** Throws unless the server answers on this connection. */
export async function checkTemporal(connection: NativeConnection | undefined): Promise<void> {
  if (connection === undefined) throw new Error('not connected to Temporal');
  const getSystemInfo = () => connection.workflowService.getSystemInfo({});
  await connection.withDeadline(Date.now() + CHECK_WITHIN_MS, getSystemInfo);
}

/** A client of our namespace on an open connection. */
export function temporalClient(connection: NativeConnection, config: TemporalConfig): Client {
  return new Client({ connection, namespace: config.namespace });
}
