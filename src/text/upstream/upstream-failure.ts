/**
 * A call that failed at one upstream, with the facts that the router needs besides the reason: whether another
 * upstream, or the same one, may be tried.
 */
import { TextFailure } from '../text-failure.ts';
import type { TextFailureReason } from '../text-failure.ts';

export interface UpstreamFailureFacts {
  /** The pause that the upstream requires. */
  readonly pauseMs?: number | undefined;
  /** Whether a retry may succeed soon: the connection was refused, or the status was a 5xx. */
  readonly isTransient?: boolean;
  /** The connection ended after the request was written and before an answer began: it may have been a dead one. */
  readonly isConnectionLost?: boolean;
  /** Whether no other upstream should be tried: the call timed out, or it was aborted. */
  readonly isFinal?: boolean;
  /** The status, if there was one. */
  readonly status?: number | undefined;
  /** A code of Node, of undici or of the upstream's error: letters, digits and signs, never a text. */
  readonly code?: string | undefined;
}

export class UpstreamFailure extends TextFailure {
  readonly facts: UpstreamFailureFacts;

  constructor(reason: TextFailureReason, message: string, facts: UpstreamFailureFacts = {}) {
    const { pauseMs } = facts;
    super(reason, message, pauseMs === undefined ? {} : { retryAfterSeconds: Math.max(1, Math.ceil(pauseMs / 1000)) });
    this.facts = facts;
  }
}

/** What an upstream sent does not conform to the protocol. */
export function invalidAnswer(what: string, facts: UpstreamFailureFacts = {}): UpstreamFailure {
  return new UpstreamFailure('upstream_invalid', what, facts);
}
