/**
 * A call that failed at one upstream, with the facts that are needed besides the reason: whether another upstream, or
 * the same one, may be tried now, and whether work that no client waits for may be repeated later.
 */
import type { WaitReason } from '@darkroom/api/openai/batches';
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
  /** The answer ended in the middle, which says nothing about its form. */
  readonly isBroken?: boolean;
  /** The upstream had the request, which may be why it failed. */
  readonly mayRecur?: boolean;
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

  /** Not for an answer that has the wrong form, or takes too long: the next one would be no different, and is paid. */
  override get waitsFor(): WaitReason | undefined {
    switch (this.reason) {
      case 'upstream_rate_limited':
      case 'upstream_unavailable':
        return 'model';
      case 'upstream_timeout':
        return this.facts.isFinal === true ? undefined : 'model';
      case 'upstream_invalid':
        return this.facts.isBroken === true ? 'model' : undefined;
      case 'upstream_refused':
      case 'interrupted':
        return undefined;
    }
  }

  override get mayRecur(): boolean {
    return this.facts.mayRecur === true || this.facts.isConnectionLost === true || this.reason === 'upstream_timeout';
  }
}

/** The answer ended before it was complete. */
export function brokenOff(what: string, code?: string): UpstreamFailure {
  return new UpstreamFailure('upstream_invalid', what, { code, isBroken: true, mayRecur: true });
}

/** What an upstream sent does not conform to the protocol. */
export function invalidAnswer(what: string, facts: UpstreamFailureFacts = {}): UpstreamFailure {
  return new UpstreamFailure('upstream_invalid', what, facts);
}
