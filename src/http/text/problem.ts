/** Our errors in the format of OpenAI's API, which clients of the text endpoints know (contract §9, spec §4.4.5). */
import type { TextProblem } from '../../text/encoder.ts';
import type { ErrorForm } from '../app/error-form.ts';
import type { HttpProblem } from '../app/errors.ts';

/** By status: the class that clients branch on. */
const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'insufficient_quota',
  403: 'permission_error',
  404: 'not_found_error',
  429: 'rate_limit_error',
  500: 'server_error',
  503: 'server_error',
};

/** By our error code, where the error has no `code` of its own. */
const CODES: Readonly<Record<string, string>> = {
  INSUFFICIENT_BALANCE: 'insufficient_quota',
  RATE_LIMITED: 'rate_limit_exceeded',
  ACCOUNT_SUSPENDED: 'account_suspended',
  FORBIDDEN: 'permission_denied',
  NOT_FOUND: 'not_found',
  METHOD_NOT_ALLOWED: 'method_not_allowed',
  RESPONSE_IN_PROGRESS: 'response_in_progress',
  PAYLOAD_TOO_LARGE: 'payload_too_large',
  UNSUPPORTED_MEDIA_TYPE: 'unsupported_media_type',
};

/** @param form decides the `error_code` of an invalid key. */
export function textProblemOf(
  { status, errorCode, message, param, code }: HttpProblem,
  form: Exclude<ErrorForm, 'envelope' | 'json-rpc'> = 'text',
): TextProblem {
  if (status === 401) {
    const word = 'permission_denied';
    const ours = form === 'text' ? word : errorCode;
    return { status, errorCode: ours, message, type: 'authentication_error', code: word, param: null };
  }
  return {
    status,
    errorCode,
    message,
    type: TYPES[status] ?? 'invalid_request_error',
    code: code ?? CODES[errorCode] ?? null,
    param: param ?? null,
  };
}
