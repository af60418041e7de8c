/**
 * Answers that wait for something to happen, and hold a connection meanwhile: event streams, long polls, tool calls. Of
 * as many connections as there may be an account holds at most as many as it leaves free, so that nobody finds none left.
 * Text calls have a number of their own for each account (contract §9).
 */
import type { ServerResponse } from 'node:http';
import { createTenantShares } from '../../limits/tenant-shares.ts';
import type { TenantShares } from '../../limits/tenant-shares.ts';
import type { ShareMetrics } from '../../telemetry/metrics-shares.ts';

/** A stream lasts for as long as its task: soon enough for the next one to end. */
const RETRY_SECONDS = 5;

/** @param maxConnections of the listener; 0: no limit, and so none here. */
export function createWaitingAnswers(maxConnections: number, metrics?: ShareMetrics): TenantShares {
  return createTenantShares({
    resource: 'waiting_answers',
    ...(maxConnections > 0 ? { capacity: maxConnections, leavesFree: true } : {}),
    retryAfterSeconds: RETRY_SECONDS,
    metrics,
  });
}

/**
 * Takes a share for an answer, until its connection is done with it.
 *
 * @throws {ShareExhaustedError}
 */
export async function holdUntilClosed(
  shares: TenantShares,
  accountId: string,
  response: ServerResponse,
): Promise<void> {
  const lease = await shares.take(accountId);
  if (response.closed || response.destroyed) lease.release();
  else response.once('close', () => lease.release());
}
