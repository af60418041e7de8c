/**
 * The envelope of every JSON response (spec §2.2, §7; contract §1).
 */

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
}

export function success<Data>(data: Data): Success<Data> {
  return { code: 200, message: 'success', data, error_code: '' };
}

export function failure(httpStatus: number, errorCode: string, message: string): Failure {
  return { code: httpStatus, message, data: null, error_code: errorCode };
}
