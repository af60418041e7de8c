/**
 * The body of an error on the text endpoints: our form and OpenAI's in one, so that both kinds of client can read it
 * (contract §9).
 */
import type { TextProblem } from './encoder.ts';

/** The error object, as it is returned or as part of an error event. */
export function errorBody({ status, errorCode, message, type, code, param }: TextProblem) {
  return {
    code: status,
    message,
    data: null,
    error_code: errorCode,
    error: { message, type, param, code },
  };
}
