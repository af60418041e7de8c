/** How a response that breaks off reports that: in its error event, and in its object (contract §9). */
import type { TextProblem } from '../encoder.ts';

/**
 * What an event of type `error` has in addition to its type and number: OpenAI's document has the members in the event
 * itself, OpenAI's API and Open Responses in `error`.
 */
export function errorMembers({
  errorCode,
  message,
  type,
  code,
  param,
}: TextProblem): Readonly<Record<string, unknown>> {
  return { code, message, param, error_code: errorCode, error: { type, code, message, param } };
}

/** The content of `error` in the response object. OpenAI's document has a closed set of words for its code. */
export function responseError({ status, message }: TextProblem): { readonly code: string; readonly message: string } {
  if (status === 429) return { code: 'rate_limit_exceeded', message };
  return { code: status >= 400 && status < 500 ? 'invalid_prompt' : 'server_error', message };
}
