/**
 * What a tool answers: JSON as text, which every client shows its model, or an error in the API's words, from which the
 * model can tell what to do differently.
 */
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { ApiError, UnreachableError } from '../api/api-client.ts';

/** Something of the API, as it is. */
export function answered(value: unknown): CallToolResult {
  return { content: [{ type: 'text', text: JSON.stringify(value, null, 1) }] };
}

/** The call did not do what it should have. */
export function refused(message: string): CallToolResult {
  return { content: [{ type: 'text', text: message }], isError: true };
}

/**
 * Runs a tool.
 *
 * @throws what is neither a refusal nor a service out of reach: an abort, or a fault of ours.
 */
export async function telling(run: () => Promise<CallToolResult>): Promise<CallToolResult> {
  try {
    return await run();
  } catch (error) {
    if (isOfTheService(error)) return refused(wordsOf(error));
    throw error;
  }
}

export function isOfTheService(error: unknown): error is ApiError | UnreachableError {
  return error instanceof ApiError || error instanceof UnreachableError;
}

/** `RATE_LIMITED: too many requests; … (retry after 2 s, request req_…)`. */
export function wordsOf(error: ApiError | UnreachableError): string {
  if (error instanceof UnreachableError) return error.message;
  const { errorCode, message, retryAfterSeconds, requestId } = error;
  const remarks = [
    retryAfterSeconds === undefined ? undefined : `retry after ${retryAfterSeconds} s`,
    requestId === undefined ? undefined : `request ${requestId}`,
  ].filter((remark) => remark !== undefined);
  const head = errorCode === '' ? message : `${errorCode}: ${message}`;
  return remarks.length === 0 ? head : `${head} (${remarks.join(', ')})`;
}
