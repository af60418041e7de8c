/**
 * The response to `GET|HEAD /media/{token}/{name}` once the token is checked and the output found: status, headers
 * and body by RFC 9110 (conditions §13, ranges §14). Knows nothing of Koa, so that each case is one call in a test.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import parseRange from 'range-parser';
import { contentTypeOf, mediaTypeOf } from '@darkroom/media/media-types';
import type { ByteRange, ObjectStore } from '../stores/object-store.ts';

export interface MediaRequest {
  readonly store: ObjectStore;
  readonly key: string;
  readonly method: 'GET' | 'HEAD';
  readonly headers: IncomingHttpHeaders;
  readonly sizeBytes: number;
  readonly mimeType: string;
  /** Lower-case hex; it is the entity tag. */
  readonly sha256: string;
  /** `<taskId>-<n>.<ext>`, from the output's record and not from the URL. */
  readonly fileName: string;
  /** Whether it is to be downloaded, and not shown: browsers obey that wherever the bytes come from. */
  readonly isDownload?: boolean;
  /** Unix seconds: the end of the URL, and so of every cache of it. */
  readonly expireAt: number;
  /** Milliseconds since 1970, as `Date.now`. */
  readonly now?: () => number;
}

/** `body` is absent where none is sent; the sender destroys it when the client disconnects. */
export interface MediaResponse {
  readonly status: 200 | 206 | 304 | 412 | 416;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Readable;
}

/**
 * Several ranges in one request are answered with the whole object, which RFC 9110 §14.2 allows.
 *
 * @throws {ObjectNotFoundError} the bytes are gone although their record is not.
 */
export async function mediaResponse(request: MediaRequest): Promise<MediaResponse> {
  const { store, key, sizeBytes } = request;
  const etag = `"${request.sha256}"`;
  const shared = sharedHeaders(request, etag);

  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = request.headers;
  if (ifMatch !== undefined && !listsTag(ifMatch, etag, 'strong')) {
    return { status: 412, headers: { ...shared, 'Content-Length': '0' } };
  }
  if (ifNoneMatch !== undefined && listsTag(ifNoneMatch, etag, 'weak')) return { status: 304, headers: shared };

  const range = requestedRange(request, etag);
  if (range === 'unsatisfiable') {
    const headers = { ...shared, 'Content-Range': `bytes */${sizeBytes}`, 'Content-Length': '0' };
    return { status: 416, headers };
  }

  const described = {
    ...shared,
    'Content-Type': contentTypeOf(request.mimeType),
    'Content-Disposition': disposition(request),
  };
  if (request.method === 'HEAD') {
    await store.head(key);
    return { status: 200, headers: { ...described, 'Content-Length': String(sizeBytes) } };
  }
  if (!range) {
    const headers = { ...described, 'Content-Length': String(sizeBytes) };
    return { status: 200, headers, body: await store.read(key) };
  }
  const headers = {
    ...described,
    'Content-Range': `bytes ${range.start}-${range.end}/${sizeBytes}`,
    'Content-Length': String(range.end - range.start + 1),
  };
  return { status: 206, headers, body: await store.read(key, range) };
}

function sharedHeaders(request: MediaRequest, etag: string): Record<string, string> {
  const nowSeconds = (request.now ?? Date.now)() / 1000;
  const maxAgeSeconds = Math.max(0, Math.floor(request.expireAt - nowSeconds));
  return {
    ETag: etag,
    'Accept-Ranges': 'bytes',
    'Cache-Control': `private, max-age=${maxAgeSeconds}`,
    'Access-Control-Allow-Origin': '*',
    'Access-Control-Expose-Headers': 'Accept-Ranges, Content-Disposition, Content-Length, Content-Range, ETag',
    // Any page may show what it has the URL of.
    'Cross-Origin-Resource-Policy': 'cross-origin',
    'X-Content-Type-Options': 'nosniff',
    // Made by other people's models: even if a browser were to take it for a page, nothing in it may run or load.
    'Content-Security-Policy': "default-src 'none'; sandbox",
  };
}

/** The one range to send; undefined means the whole object. HEAD has no ranges (RFC 9110 §14.2). */
function requestedRange(request: MediaRequest, etag: string): ByteRange | 'unsatisfiable' | undefined {
  const { range: header, 'if-range': ifRange } = request.headers;
  if (header === undefined || request.method !== 'GET' || !/^bytes=/i.test(header)) return undefined;
  // We send no Last-Modified, so a date never matches; a weak tag never does (RFC 9110 §13.1.5).
  if (ifRange !== undefined && ifRange !== etag) return undefined;
  const ranges = parseRange(request.sizeBytes, withinSize(header, request.sizeBytes));
  if (ranges === -1) return 'unsatisfiable';
  if (ranges === -2 || ranges.length > 1) return undefined;
  return ranges[0];
}

/** RFC 9110 §14.1.2: a suffix longer than the object means all of it; the parser calls it unsatisfiable. */
function withinSize(header: string, sizeBytes: number): string {
  const suffix = /^bytes=\s*-(\d+)\s*$/i.exec(header)?.[1];
  return suffix !== undefined && Number(suffix) > sizeBytes ? `bytes=-${sizeBytes}` : header;
}

/**
 * What a download is called, and whether a browser may show it: a name that is more than letters, digits and a few signs
 * stands beside a plain one (RFC 6266, §4.3).
 */
export function disposition({
  mimeType,
  fileName,
  isDownload = false,
}: Pick<MediaRequest, 'mimeType' | 'fileName' | 'isDownload'>): string {
  const kind = mediaTypeOf(mimeType) && !isDownload ? 'inline' : 'attachment';
  const plain = fileName.replaceAll(/[^A-Za-z0-9._-]/gu, '_');
  const whole = plain === fileName ? '' : `; filename*=UTF-8''${extendedValue(fileName)}`;
  return `${kind}; filename="${plain}"${whole}`;
}

/** RFC 8187, §3.2: bytes of UTF-8 in hexadecimal, but for `attr-char`. Control characters are no part of a name. */
function extendedValue(fileName: string): string {
  const shown = fileName.replaceAll(/[\p{Cc}\p{Cs}]/gu, '');
  return encodeURIComponent(shown).replaceAll(/['()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
}

/**
 * Whether the entity tags of a condition (RFC 9110 §13.1) contain ours, for bytes and for JSON alike. `weak` ignores a
 * `W/`, `strong` rejects it (§8.8.3.2).
 */
export function listsTag(header: string, etag: string, comparison: 'weak' | 'strong'): boolean {
  const tags = header.split(',').map((tag) => tag.trim());
  return tags.some((tag) => tag === '*' || tag === etag || (comparison === 'weak' && tag === `W/${etag}`));
}
