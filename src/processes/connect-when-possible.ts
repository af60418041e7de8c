/** The first connection of a process to Temporal: it is retried for as long as necessary. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { NativeConnection } from '@temporalio/worker';
import type { TemporalConfig } from '../config/config.ts';
import type { Logger } from '../telemetry/log.ts';
import type { OutboxMetrics } from '../telemetry/metrics-outbox.ts';
import { connectTemporal } from '../temporal/connection.ts';
import { connectionProblem } from '../temporal/connection-problem.ts';
import type { TemporalRuntime } from '../temporal/runtime.ts';

/** How long to wait between attempts to reach Temporal while it is unavailable. */
const RECONNECT_MS = 1_000;

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
  while (signal?.aborted !== true) {
    try {
      const connection = await connectTemporal(config);
      logger.info({ address: config.address }, 'connected to Temporal');
      return connection;
    } catch (err) {
      const { reason, message } = connectionProblem(config, err);
      if (reason !== 'unreachable') outboxMetrics.connectionRejected();
      // Each reason is logged once, not with each attempt.
      if (reason !== logged) {
        const level = reason === 'unreachable' ? 'warn' : 'error';
        logger[level]({ err, address: config.address, reason }, `${meanwhile}: ${message}`);
        logged = reason;
      }
      await runtime.recover(err);
      await sleep(RECONNECT_MS);
    }
  }
  return undefined;
}
