/**
 * Serves the task queues under the names that they used to have in every installation, until everything started on them
 * has ended: tasks, callbacks and promotions that an earlier release started, or starts while it runs together with
 * this one during a rollout (docs/decisions/0006). The names do not identify the installation, so they are served only
 * while Temporal has work on them that is in the database.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { Database } from '../database/database.ts';
import type { QueueName } from '../domain/workflow-ids.ts';
import type { Logger } from '../telemetry/log.ts';
import { hasWorkOnFormerQueues } from '../temporal/former-work.ts';
import type { RunningWorker } from './worker.ts';

/** The longest time that work of an earlier release waits for a worker of this one, unless two checks take longer. */
const LOOK_MS = 10_000;

export interface FormerQueuesOptions {
  readonly client: Client;
  readonly database: Database;
  readonly logger: Logger;
  readonly queues: readonly QueueName[];
  /** Starts a worker of these queues under their former names. */
  readonly start: () => Promise<RunningWorker>;
}

/** Serves the former names while there is work on them. A failure here never stops the worker itself. */
export function serveFormerQueues(options: FormerQueuesOptions): Pick<RunningWorker, 'finished' | 'shutdown'> {
  const { client, database, logger, queues, start } = options;
  const stopping = new AbortController();
  let current: RunningWorker | undefined;

  /** If it fails, the next check starts another. */
  async function serve(): Promise<void> {
    logger.info({ queues }, 'serving queues with former names: an earlier release has left work on them');
    try {
      current = await start();
      if (stopping.signal.aborted) current.shutdown();
      await current.finished;
      if (!stopping.signal.aborted) logger.info({ queues }, 'no work left on queues with former names');
    } catch (err) {
      logger.warn({ err }, 'worker of the former queues failed; restarting it');
    } finally {
      current = undefined;
    }
  }

  async function run(): Promise<void> {
    const { signal } = stopping;
    let serving: Promise<void> | undefined;
    while (!signal.aborted) {
      const beganAt = performance.now();
      const isThere = await hasWorkOnFormerQueues(client, database, { signal }).catch((err: unknown) => {
        // Temporal or the database is unavailable, and nothing changes.
        logger.debug({ err }, 'checking the former queues for work failed');
        return undefined;
      });
      if (isThere === false) current?.shutdown();
      if (isThere === true && serving === undefined && !signal.aborted) {
        serving = serve().finally(() => {
          serving = undefined;
        });
      }
      // A long list of another installation's work is read at most half of the time.
      const pauseMs = Math.max(LOOK_MS, performance.now() - beganAt);
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
    }
    await serving;
  }

  return {
    finished: run(),
    shutdown() {
      stopping.abort();
      current?.shutdown();
    },
  };
}
