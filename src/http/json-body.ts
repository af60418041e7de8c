/**
 * Reading a JSON body: size, type, depth and form are judged before anything is believed (contract §1).
 */
import type { IncomingMessage } from 'node:http';
import getRawBody from 'raw-body';
import { RequestError, invalidRequest } from './errors.ts';

/** Contract §1: "JSON deeper than 32 levels is refused before it is parsed". */
const MAX_DEPTH = 32;

/** Contract §1: 10 MB on create, estimate and the text endpoints. */
export const CREATE_BODY_BYTES = 10_000_000;

/** Contract §1: 256 kB elsewhere. */
export const SMALL_BODY_BYTES = 256_000;

/**
 * Reads and parses a JSON body, of any form.
 *
 * @throws {RequestError} 400, 413 or 415.
 */
export async function readJson(request: IncomingMessage, maxBytes: number): Promise<unknown> {
  requireJsonType(request);
  const text = await readText(request, maxBytes);
  if (depthExceeds(text, MAX_DEPTH))
    throw invalidRequest(`invalid request: JSON is nested deeper than ${MAX_DEPTH} levels`);
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw invalidRequest('invalid request: the body is not JSON');
  }
}

/** Whether a request brings no body at all. */
export function hasNoBody(request: IncomingMessage): boolean {
  const length = request.headers['content-length'];
  return request.headers['transfer-encoding'] === undefined && (length === undefined || length === '0');
}

function requireJsonType(request: IncomingMessage): void {
  const [type, ...parameters] = (request.headers['content-type'] ?? '').toLowerCase().split(';');
  const isUtf8 = parameters.every(
    (parameter) => !/^\s*charset\s*=/.test(parameter) || /=\s*"?utf-?8"?\s*$/.test(parameter),
  );
  const encoding = request.headers['content-encoding']?.toLowerCase() ?? 'identity';
  if (type?.trim() !== 'application/json' || !isUtf8 || encoding !== 'identity') {
    throw new RequestError({
      status: 415,
      errorCode: 'UNSUPPORTED_MEDIA_TYPE',
      message: 'send the body as Content-Type: application/json, in UTF-8 and not compressed',
    });
  }
}

async function readText(request: IncomingMessage, maxBytes: number): Promise<string> {
  let bytes: Buffer;
  try {
    const length = request.headers['content-length'];
    bytes = await getRawBody(request, { limit: maxBytes, ...(length === undefined ? {} : { length }) });
  } catch (error) {
    const type = error instanceof Error && 'type' in error ? error.type : undefined;
    if (type === 'entity.too.large') {
      throw new RequestError({
        status: 413,
        errorCode: 'PAYLOAD_TOO_LARGE',
        message: `the body is larger than ${maxBytes} bytes`,
      });
    }
    throw invalidRequest('invalid request: the body did not arrive whole');
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch {
    throw invalidRequest('invalid request: the body is not UTF-8');
  }
}

/** Counts brackets outside strings; says nothing about whether the text is JSON. */
function depthExceeds(text: string, limit: number): boolean {
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (isInString) {
      if (code === 0x5c) at++;
      else if (code === 0x22) isInString = false;
    } else if (code === 0x22) isInString = true;
    else if (code === 0x7b || code === 0x5b) {
      depth += 1;
      if (depth > limit) return true;
    } else if (code === 0x7d || code === 0x5d) depth -= 1;
  }
  return false;
}
