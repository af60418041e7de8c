/**
 * The result of a tool: JSON as text, which every client shows its model, or an error with the API's message, from
 * which the model can infer what to do differently.
 */
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { ApiError, UnreachableError } from '@darkroom/api/client/api-client';

/**
 * Of a whole result, as it is sent. Clients end a call at an event of 1 MiB (the Python SDK from 2.0 on): the rest is
 * for the message around the result.
 */
export const MAX_RESULT_BYTES = 1_000_000;

/** An answer of the API, unchanged. */
export function answered(value: unknown): CallToolResult {
  return { content: [{ type: 'text', text: JSON.stringify(value, null, 1) }] };
}

/** The call failed. */
export function toolError(message: string): CallToolResult {
  return { content: [{ type: 'text', text: message }], isError: true };
}

/**
 * Runs a tool.
 *
 * @throws anything but a rejection or an unreachable service: an abort, or a fault of ours.
 */
export async function runTool(run: () => Promise<CallToolResult>): Promise<CallToolResult> {
  try {
    return await run();
  } catch (error) {
    if (isServiceError(error)) return toolError(messageOf(error));
    throw error;
  }
}

/** The length of a result as it is sent. */
export function resultBytes(result: object): number {
  return Buffer.byteLength(JSON.stringify(result));
}

/** If a result is too large, its longest text is cut; the images were limited before. */
export function bounded(result: CallToolResult): CallToolResult {
  let excess = resultBytes(result) - MAX_RESULT_BYTES;
  if (excess <= 0) return result;
  const content = [...result.content];
  while (excess > 0) {
    const [index, text] = longestText(content);
    if (text.length <= CUT.length) break;
    const bytesEach = Buffer.byteLength(JSON.stringify(text)) / text.length;
    const keptLength = Math.max(0, text.length - CUT.length - Math.ceil(excess / bytesEach));
    content[index] = { type: 'text', text: text.slice(0, keptLength).replace(HALF_PAIR, '') + CUT };
    excess = resultBytes({ ...result, content }) - MAX_RESULT_BYTES;
  }
  return { ...result, content };
}

/** The first half of a surrogate pair. */
const HALF_PAIR = /[\uD800-\uDBFF]$/;
const CUT = '\n[Cut: the answer is longer than one call may be. Request less of it at a time.]';

function longestText(content: CallToolResult['content']): readonly [index: number, text: string] {
  const texts = content.map((block) => (block.type === 'text' ? block.text : ''));
  const longest = texts.reduce((most, text) => (text.length > most.length ? text : most), '');
  return [texts.indexOf(longest), longest];
}

export function isServiceError(error: unknown): error is ApiError | UnreachableError {
  return error instanceof ApiError || error instanceof UnreachableError;
}

/** `RATE_LIMITED: too many requests; … (retry after 2 s, request req_…)`. */
export function messageOf(error: ApiError | UnreachableError): string {
  if (error instanceof UnreachableError) return error.message;
  const { errorCode, message, retryAfterSeconds, requestId } = error;
  const remarks = [
    retryAfterSeconds === undefined ? undefined : `retry after ${retryAfterSeconds} s`,
    requestId === undefined ? undefined : `request ${requestId}`,
  ].filter((remark) => remark !== undefined);
  const head = errorCode === '' ? message : `${errorCode}: ${message}`;
  return remarks.length === 0 ? head : `${head} (${remarks.join(', ')})`;
}
