/**
 * Reading a JSON body: size, type, depth, counts and form are checked before anything is believed (contract §1), most of
 * it while the bytes arrive, so that nothing takes long at once but the parsing of what is within the bounds.
 */
import type { IncomingMessage } from 'node:http';
import { JsonBoundsError, createJsonScanner } from '../domain/json-scanner.ts';
import type { BodyAllowance } from './body-allowance.ts';
import { RequestError, invalidRequest } from './errors.ts';

/** Contract §1: 10 MB on create, estimate and the text endpoints. */
export const CREATE_BODY_BYTES = 10_000_000;

/** Contract §1: 256 kB elsewhere. */
export const SMALL_BODY_BYTES = 256_000;

/** A body of unknown length is paid for in such pieces. */
const CHARGED_TOGETHER = 64_000;
/** A value costs as much as so many bytes, where it has fewer: objects of many members take longest to parse. */
const BYTES_PER_VALUE = 100;
/** How long a rejected sender may go on sending before it is cut off: time to read why. */
const LINGER_MS = 10_000;

/**
 * Reads and parses a JSON body, of any form.
 *
 * @param allowance whose it is; what it holds is for the caller to release, once the body is done with.
 * @throws {RequestError} 400, 413 or 415. @throws {RateLimitedError} nothing was read. @throws {ShareExhaustedError}
 */
export async function readJson(request: IncomingMessage, maxBytes: number, allowance: BodyAllowance): Promise<unknown> {
  requireJsonType(request);
  const scanner = createJsonScanner();
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false });
  const decode = (bytes?: Uint8Array): string => {
    try {
      return bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true });
    } catch {
      throw invalidRequest('invalid request: the body is not UTF-8');
    }
  };
  const scan = (chunk: Uint8Array): void => {
    try {
      scanner.push(chunk);
    } catch (error) {
      throw error instanceof JsonBoundsError ? invalidRequest(`invalid request: ${error.message}`) : error;
    }
  };
  let text = '';
  const bytes = await readBody(request, maxBytes, allowance, (chunk) => {
    allowance.hold(chunk.length);
    scan(chunk);
    text += decode(chunk);
  });
  text += decode();
  await allowance.charge(scanner.values * BYTES_PER_VALUE - bytes);
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw invalidRequest('invalid request: the body is not JSON');
  }
}

/**
 * Reads a body of which nothing is needed to its end.
 *
 * @throws {RequestError} 400 or 413. @throws {RateLimitedError} nothing was read.
 */
export async function discardBody(request: IncomingMessage, maxBytes: number, allowance: BodyAllowance): Promise<void> {
  await readBody(request, maxBytes, allowance, () => undefined);
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

/**
 * Hands a body on as it arrives, each piece paid for before it is read.
 *
 * @returns its length. @throws {RequestError} 400 or 413, {RateLimitedError}, and what `take` throws.
 */
async function readBody(
  request: IncomingMessage,
  maxBytes: number,
  allowance: BodyAllowance,
  take: (chunk: Buffer) => void,
): Promise<number> {
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > maxBytes) throw tooLarge(maxBytes);
  let paid = announced > 0 ? announced : CHARGED_TOGETHER;
  await allowance.charge(paid);
  let bytes = 0;
  try {
    // A body that is not read to its end must not take its connection, and the answer, with it.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw tooLarge(maxBytes);
      for (; bytes > paid; paid += CHARGED_TOGETHER) await allowance.charge(CHARGED_TOGETHER);
      take(chunk);
    }
  } catch (error) {
    if (request.errored !== null) throw invalidRequest('invalid request: the body did not arrive whole');
    endPolitely(request);
    throw error;
  }
  return bytes;
}

/** A rejected sender may be sending still: what comes is thrown away for a moment, so that it gets to read the answer. */
export function endPolitely(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return;
  request.resume();
  const cut = setTimeout(() => request.destroy(), LINGER_MS);
  cut.unref();
  request.once('close', () => clearTimeout(cut));
  request.once('end', () => clearTimeout(cut));
}

function tooLarge(maxBytes: number): RequestError {
  const message = `the body is larger than ${maxBytes} bytes`;
  return new RequestError({ status: 413, errorCode: 'PAYLOAD_TOO_LARGE', message });
}
