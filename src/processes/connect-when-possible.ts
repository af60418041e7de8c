/** The first connection of a process to Temporal: it is retried for as long as necessary. */
import type { NativeConnection } from '@temporalio/worker';
import pRetry from 'p-retry';
import type { TemporalConfig } from '../config/connections.ts';
import type { Logger } from '../telemetry/log.ts';
import type { OutboxMetrics } from '../telemetry/metrics-traffic.ts';
import { connectTemporal } from '../temporal/connection.ts';
import { connectionProblem } from '../temporal/connection-problem.ts';
import type { TemporalRuntime } from '../temporal/runtime.ts';

/** Retries every second, for as long as Temporal is unavailable. */
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

/** @returns undefined if the process stops before Temporal was reachable. */
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
