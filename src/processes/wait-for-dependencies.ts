/** A process that needs PostgreSQL or Temporal to start waits for it instead of exiting. */
import type { NativeConnection } from '@temporalio/worker';
import pRetry from 'p-retry';
import type { TemporalConfig } from '../config/connections.ts';
import type { Logger } from '../telemetry/log.ts';
import type { OutboxMetrics } from '../telemetry/metrics-traffic.ts';
import { connectTemporal } from '../temporal/connection.ts';
import { connectionProblem } from '../temporal/rejections.ts';
import type { TemporalRuntime } from '../temporal/runtime.ts';
import { DatabaseUnavailableError } from '../database/database.ts';

/** Retries every second, for as long as necessary. */
const RETRIES = { retries: Number.POSITIVE_INFINITY, factor: 1, minTimeout: 1_000 };

interface Connecting {
  readonly config: TemporalConfig;
  readonly runtime: Pick<TemporalRuntime, 'recover'>;
  readonly logger: Logger;
  readonly outboxMetrics: OutboxMetrics;
  /** What the process does in the meantime, for its log. */
  readonly meanwhile: string;
  readonly signal?: AbortSignal;
}

/**
 * The first connection of a process to Temporal, retried for as long as necessary.
 *
 * @returns undefined if the process stops before Temporal was reachable.
 */
export async function connectWhenPossible(connecting: Connecting): Promise<NativeConnection | undefined> {
  const { config, runtime, logger, outboxMetrics, meanwhile, signal } = connecting;
  let logged: string | undefined;
  let connection: NativeConnection | undefined;
  const connect = async (): Promise<void> => {
    try {
      connection = await connectTemporal(config);
    } catch (error) {
      // p-retry treats a TypeError as a programming error, and does not retry it.
      throw error instanceof TypeError ? new Error(error.message, { cause: error }) : error;
    }
    outboxMetrics.connected();
    logger.info({ address: config.address }, 'connected to Temporal');
  };
  try {
    await pRetry(connect, {
      ...RETRIES,
      ...(signal === undefined ? {} : { signal }),
      async onFailedAttempt({ error: err }) {
        const { reason, message } = connectionProblem(config, err);
        if (reason !== 'unreachable') outboxMetrics.connectionRejected();
        // Each reason is logged once, not with each attempt.
        if (reason !== logged) {
          const level = reason === 'unreachable' ? 'warn' : 'error';
          logger[level]({ err, address: config.address, reason }, `${meanwhile}: ${message}`);
          logged = reason;
        }
        await runtime.recover(err);
      },
    });
  } catch (error) {
    if (signal?.aborted !== true) throw error;
  }
  // p-retry throws the signal's reason even after a success.
  return connection;
}

/** Runs a step of a start, again after each time that the database was unavailable. */
export type DatabaseWait = <T>(step: () => Promise<T>) => Promise<T>;

/**
 * @param signal ends the wait.
 * @returns runs steps that need the database and leave nothing behind when they fail. It throws the signal's reason
 *   once the signal has fired, and PostgreSQL's error when it rejects the connection, or that it is not reached as the
 *   settings say: waiting does not help against a wrong password.
 */
export function createDatabaseWait(logger: Logger, signal: AbortSignal): DatabaseWait {
  let isWaiting = false;
  return (step) =>
    pRetry(
      async () => {
        const result = await step();
        if (isWaiting) logger.info('PostgreSQL is available');
        isWaiting = false;
        return result;
      },
      {
        ...RETRIES,
        signal,
        shouldRetry: ({ error }) => error instanceof DatabaseUnavailableError,
        onFailedAttempt({ error }) {
          if (isWaiting || !(error instanceof DatabaseUnavailableError)) return;
          isWaiting = true;
          logger.warn({ err: error }, 'waiting for PostgreSQL');
        },
      },
    ).catch((error: unknown) => {
      signal.throwIfAborted();
      throw error;
    });
}
