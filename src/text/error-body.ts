/** The body of an error on the text endpoints: ours and OpenAI's in one, so that both kinds of client read it (contract §9). */
import type { TextProblem } from './encoder.ts';

/** As it is answered, or stands in an error event. */
export function errorBody({ status, errorCode, message, type, code, param }: TextProblem) {
  return {
    code: status,
    message,
    data: null,
    error_code: errorCode,
    error: { message, type, param, code },
  };
}
