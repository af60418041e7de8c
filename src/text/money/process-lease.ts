/**
 * How long an API process counts as alive: each API process holds a lease. Its text calls are its own as long as its
 * lease runs; after that any other process settles them (sweep.ts). Only the database's clock counts, so that clocks
 * of machines may differ. A process that was paused or cut off for longer takes the lease again under the same id:
 * what was settled meanwhile stays settled, and the rest is its own as before.
 */
import { randomUUID } from 'node:crypto';
import type { Queryable, Statement } from '../../database/database.ts';
import type { Logger } from '../../telemetry/log.ts';

/** The duration of the lease: three renewals may fail before it expires. */
export const LEASE_SECONDS = 20;
const RENEW_MS = 5_000;

const renewLease: Statement = {
  name: 'renew_text_process_lease',
  text: `INSERT INTO text_processes AS p (id, leased_until) VALUES ($1, now() + make_interval(secs => $2))
         ON CONFLICT (id) DO UPDATE
            SET leased_until = excluded.leased_until,
                unbroken_since = CASE WHEN p.leased_until > now() THEN p.unbroken_since ELSE now() END`,
};
/** The other processes may settle at once what this one did not. */
const endLease: Statement = {
  name: 'end_text_process_lease',
  text: 'UPDATE text_processes SET leased_until = now() WHERE id = $1',
};

export interface ProcessLease {
  /** A UUID: identifies this run of the process. */
  readonly processId: string;
  /** Acquires or renews it now. @throws {DatabaseUnavailableError} */
  renew(): Promise<void>;
  /** Ends it: this process has settled what it could. Never fails. */
  close(): Promise<void>;
}

/** Acquires a lease and renews it at intervals. @throws {DatabaseUnavailableError} */
export async function acquireProcessLease(dependencies: {
  readonly database: Queryable;
  readonly logger: Logger;
}): Promise<ProcessLease> {
  const { database, logger } = dependencies;
  const processId = randomUUID();
  const renew = async (): Promise<void> => {
    await database.query(renewLease, [processId, LEASE_SECONDS]);
  };
  await renew();

  let renewing = Promise.resolve();
  const timer = setInterval(() => {
    renewing = renew().catch((error: unknown) => {
      logger.warn({ err: error, processId }, 'renewing the lease of this process failed; retrying');
    });
  }, RENEW_MS).unref();

  return {
    processId,
    renew,
    async close() {
      clearInterval(timer);
      await renewing;
      await database.query(endLease, [processId]).catch((error: unknown) => {
        logger.warn({ err: error, processId }, 'ending the lease of this process failed; it will expire');
      });
    },
  };
}
