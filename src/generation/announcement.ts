/**
 * What one attempt to submit leaves for the next one, and for a later run, in its heartbeats: to which upstream the work
 * is about to be sent, or that nothing was sent (docs/decisions/0005, docs/decisions/0004).
 */
import pRetry from 'p-retry';
import type { Attempt } from './attempt.ts';

/** What is known outside the database about a submit that is about to be sent. */
export interface AnnouncedSubmit {
  /** Index of the upstream in the route's list. */
  readonly upstreamIndex: number;
  /** How often the task had been rejected before: if more rejections are recorded, this submit was rejected as well. */
  readonly rejections: number;
}

/** Its form in heartbeat details, which earlier releases read and write as well. */
interface AnnouncedDetails {
  readonly place: AnnouncedSubmit['upstreamIndex'];
  readonly refusals: AnnouncedSubmit['rejections'];
}

/** For the next attempt only, not for later ones. */
interface Unsent {
  /** The number of the attempt that states this. */
  readonly unsentBy: number;
}

/** The retries end within the time after which the attempt is considered dead. */
const ANNOUNCE_RETRY = { retries: 2, minTimeout: 200, maxTimeout: 500 };

/**
 * Announces to which upstream the work is about to be sent, so that this is known even if the database loses the intent.
 * It is recorded when this returns, whatever happens to the worker after that.
 *
 * @returns false if this attempt has ended and nothing may be sent.
 * @throws if it could not be recorded.
 */
export async function announceSubmit(
  attempt: Attempt,
  { upstreamIndex, rejections }: AnnouncedSubmit,
): Promise<boolean> {
  const details: AnnouncedDetails = { place: upstreamIndex, refusals: rejections };
  // Recorded once, by the call that is waited for: the next heartbeats only repeat it.
  attempt.attach(details);
  return pRetry(() => attempt.recordHeartbeat(details), ANNOUNCE_RETRY);
}

/** Nothing was sent, or it was rejected, and the database has recorded that. */
export function withdrawSubmit(attempt: Pick<Attempt, 'heartbeat'>): void {
  attempt.heartbeat({});
}

/** The submit that an earlier attempt announced, and did not withdraw. */
export function announcedSubmit({ earlierDetails }: Pick<Attempt, 'earlierDetails'>): AnnouncedSubmit | undefined {
  const { place, refusals = 0 } = (earlierDetails ?? {}) as Partial<AnnouncedDetails>;
  return typeof place === 'number' ? { upstreamIndex: place, rejections: refusals } : undefined;
}

/**
 * States for the next attempt that this one, which is about to end, has sent nothing, although its intent may have
 * been recorded, or may still be.
 */
export function stateUnsent(attempt: Pick<Attempt, 'heartbeat' | 'number'>): void {
  attempt.heartbeat({ unsentBy: attempt.number } satisfies Unsent);
}

/**
 * Whether the immediately preceding attempt stated that. A statement of an older attempt does not count: a later
 * attempt may have sent the work, and a late heartbeat may have restored the old statement.
 */
export function isStatedUnsent({ earlierDetails, number }: Pick<Attempt, 'earlierDetails' | 'number'>): boolean {
  return ((earlierDetails ?? {}) as Partial<Unsent>).unsentBy === number - 1;
}

/** Whether the details of an earlier attempt are for every later one, so that the heartbeats of this one repeat them. */
export function isLasting(earlierDetails: object): boolean {
  return !('unsentBy' in earlierDetails);
}
