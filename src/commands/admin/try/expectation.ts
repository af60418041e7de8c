/** The outcome that a run of `models try` is expected to have, so that a recording of a failure can be a test too. */
import { isFailureReason } from '../../../domain/failure-reason.ts';
import type { FailureReason } from '../../../domain/failure-reason.ts';
import { AdminError } from '../admin-error.ts';
import type { Ending } from './work.ts';

export interface Expectation {
  /** As it was given: `rejected:content_rejected`. */
  readonly text: string;
  readonly kind: Exclude<Ending['kind'], 'stopped'>;
  /** Undefined: any. */
  readonly reason: FailureReason | undefined;
}

const KINDS = ['done', 'rejected', 'failed', 'unknown'] as const;

/** @param where it was given. @throws {AdminError} it is no outcome. */
export function readExpectation(where: string, text: string): Expectation {
  const [named, reason, ...rest] = text.split(':');
  const kind = KINDS.find((each) => each === named);
  const hasReason = kind === 'rejected' || kind === 'failed';
  if (kind === undefined || rest.length > 0 || (reason !== undefined && !hasReason)) {
    throw new AdminError(
      `${where}: ${JSON.stringify(text)} is none of done, unknown, rejected and failed; ` +
        'a reason may follow the last two, as in rejected:content_rejected',
    );
  }
  if (reason === undefined) return { text, kind, reason: undefined };
  if (isFailureReason(reason)) return { text, kind, reason };
  throw new AdminError(`${where}: ${JSON.stringify(reason)} is no reason, such as content_rejected or provider_error`);
}

export function isMet({ kind, reason }: Expectation, ending: Ending): boolean {
  if (ending.kind !== kind) return false;
  return reason === undefined || ('reason' in ending && ending.reason === reason);
}
