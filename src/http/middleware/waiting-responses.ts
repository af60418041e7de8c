/**
 * Responses that wait for something to happen and hold a connection meanwhile: event streams, long polls, tool calls.
 * Of the connections that are allowed, an account holds at most as many as it leaves free, so that others always find
 * some. Text calls have a separate limit for each account (contract §9).
 */
import type { ServerResponse } from 'node:http';
import { createTenantShares } from '../../limits/tenant-shares.ts';
import type { TenantShares } from '../../limits/tenant-shares.ts';
import type { ShareMetrics } from '../../telemetry/metrics.ts';

/** `Retry-After` in seconds. A stream lasts as long as its task, so one may have ended by then. */
const RETRY_SECONDS = 5;

/** @param maxConnections of the listener; 0: no limit, and so none here either. */
export function createWaitingResponses(maxConnections: number, metrics?: ShareMetrics): TenantShares {
  return createTenantShares({
    resource: 'waiting_answers',
    ...(maxConnections > 0 ? { capacity: maxConnections, leavesFree: true } : {}),
    retryAfterSeconds: RETRY_SECONDS,
    metrics,
  });
}

/**
 * Takes a share for a response until its connection is closed.
 *
 * @throws {ShareExhaustedError}
 */
export async function holdShareUntilClosed(
  shares: TenantShares,
  accountId: string,
  response: ServerResponse,
): Promise<void> {
  const lease = await shares.take(accountId);
  if (response.closed || response.destroyed) lease.release();
  else response.once('close', () => lease.release());
}
