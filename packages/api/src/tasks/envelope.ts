/**
 * The envelope of every JSON response (spec §2.2, §7; contract §1).
 */
import { factsOf } from '../facts/error-kinds.ts';
import type { ErrorKind } from '../facts/error-kinds.ts';
import type { Violation } from '../facts/violation.ts';

export interface Success<Data> {
  readonly code: 200;
  readonly message: 'success';
  readonly data: Data;
  readonly error_code: '';
}

export interface Failure {
  /** Equal to the HTTP status. */
  readonly code: number;
  readonly message: string;
  readonly data: null;
  readonly error_code: string;
  readonly violations?: readonly Violation[];
}

export function success<Data>(data: Data): Success<Data> {
  return { code: 200, message: 'success', data, error_code: '' };
}

/** @param violations only where a field is known to be wrong. */
export function failure(kind: ErrorKind, message: string, violations?: readonly Violation[]): Failure {
  const { status, errorCode } = factsOf(kind);
  const rest = violations === undefined ? {} : { violations };
  return { code: status, message, data: null, error_code: errorCode, ...rest };
}
