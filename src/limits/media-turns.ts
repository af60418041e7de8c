/** Which file is inspected next, and which preview is made next: accounts share the children that read media. */
import os from 'node:os';
import { NotPromptError, UnsupportedMediaError } from '@darkroom/media/inspect';
import type { Turns } from '@darkroom/media/inspect';
import type { ShareMetrics } from '../telemetry/metrics.ts';
import { createTenantShares } from './tenant-shares.ts';
import type { TenantShares } from './tenant-shares.ts';

/** The maximum number of uploads and archivings that wait for their inspection; no more of them can be in progress. */
const INSPECTIONS_WAIT = { perTenant: 64, perProcess: 2_000 };
/** `Retry-After` when too many wait. */
const RETRY_SECONDS = 5;
/** How long an account stays suspect after its last conspicuous file, in milliseconds. */
const SUSPECT_MS = 60_000;

/**
 * The turns of inspections; one is rejected with a `ShareExhaustedError` if too many wait already. A file that takes
 * long leaves a child to those that do not. An account whose file has just exceeded its bounds has its files read one
 * at a time, together with those of other such accounts: a file of two hundred bytes can occupy a child for seconds,
 * and for a minute on a busy machine, and a few accounts with such files would occupy all children.
 *
 * @param children how many files are read at once; default one more than cores, so that one account can use as many as
 *   there are cores.
 */
export function createInspectionTurns(metrics?: ShareMetrics, children: number = os.availableParallelism() + 1): Turns {
  const common = { waiting: INSPECTIONS_WAIT, retryAfterSeconds: RETRY_SECONDS, metrics };
  const shares = createTenantShares({
    ...common,
    resource: 'media_inspections',
    capacity: children,
    leavesFree: true,
  });
  const patientShares = createTenantShares({
    ...common,
    resource: 'patient_inspections',
    capacity: Math.max(1, children - 1),
    leavesFree: true,
  });
  const suspectShares = createTenantShares({ ...common, resource: 'suspect_inspections', capacity: 1 });
  /** The time at which each account stops being suspect; the oldest comes first. */
  const suspects = new Map<string, number>();

  const isSuspect = (tenant: string): boolean => (suspects.get(tenant) ?? 0) > performance.now();

  function suspect(tenant: string): void {
    const now = performance.now();
    suspects.delete(tenant);
    suspects.set(tenant, now + SUSPECT_MS);
    for (const [other, until] of suspects) {
      if (until > now) break;
      suspects.delete(other);
    }
  }

  async function noting<T>(tenant: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof UnsupportedMediaError && error.problem !== undefined) suspect(tenant);
      throw error;
    }
  }

  return {
    async run(tenant, work) {
      if (!isSuspect(tenant)) {
        const lease = await shares.take(tenant);
        try {
          // It may have become suspect while it waited.
          if (!isSuspect(tenant)) return await noting(tenant, () => work(false));
        } catch (error) {
          if (!(error instanceof NotPromptError)) throw error;
        } finally {
          lease.release();
        }
      }
      // Always in this order, so that no account that has a child waits for another share.
      const patiently = () =>
        patientShares.run(tenant, () => shares.run(tenant, () => noting(tenant, () => work(true))));
      return isSuspect(tenant) ? suspectShares.run(tenant, patiently) : patiently();
    },
  };
}

/**
 * The maximum number of waiting preview requests. A task has several images, and a client may request all of them at
 * once.
 */
const PREVIEWS_WAIT = { perTenant: 32, perProcess: 500 };

/** The turns of previews. @param children as of inspections. */
export function createPreviewTurns(
  metrics?: ShareMetrics,
  children: number = os.availableParallelism() + 1,
): TenantShares {
  return createTenantShares({
    resource: 'previews',
    capacity: children,
    leavesFree: true,
    waiting: PREVIEWS_WAIT,
    retryAfterSeconds: RETRY_SECONDS,
    metrics,
  });
}
