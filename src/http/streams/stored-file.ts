/** Sends a stored file, or a part of it: what every route has in common that downloads one. */
import type { ParameterizedContext } from 'koa';
import { contentTypeOf } from '@darkroom/media/media-types';
import { ObjectNotFoundError } from '../../objects/stores/object-store.ts';
import { disposition, mediaResponse } from '../../objects/urls/media-response.ts';
import type { MediaRequest, MediaResponse } from '../../objects/urls/media-response.ts';
import type { HttpContext, RequestState } from '../app/context.ts';

export interface StoredFile extends Pick<MediaRequest, 'key' | 'sizeBytes' | 'mimeType' | 'sha256' | 'fileName'> {
  readonly id: string;
  readonly isDownload?: boolean;
}

/** Responses with a file that are not the whole file. */
export const FILE_RESPONSES = {
  307: { description: 'The file is served by the store itself (`DOWNLOADS=direct`): follow `Location`.' },
  304: { description: 'Not modified: your copy (`If-None-Match`) is current.' },
  412: { description: '`If-Match` does not match the file.' },
  416: { description: 'The range is outside the file. `Content-Range` contains the size of the file.' },
} as const;

/** What lets any page show a file that it has the URL of. */
const FOR_ANY_PAGE = {
  'Access-Control-Allow-Origin': '*',
  'Cross-Origin-Resource-Policy': 'cross-origin',
};

/** Under which conditions a file is sent. */
export interface FileAccess {
  /** Unix seconds: the end of every cache of it. */
  readonly expireAt: number;
  /** Whether any page may show it; otherwise it is for the holder of a key. */
  readonly isForAnyPage: boolean;
}

/** @throws {ObjectNotFoundError} the bytes are missing although there is a record of them. */
export async function sendStoredFile(
  http: HttpContext,
  ctx: ParameterizedContext<RequestState>,
  file: StoredFile,
  { expireAt, isForAnyPage }: FileAccess,
): Promise<undefined> {
  const method = ctx.method === 'HEAD' ? 'HEAD' : 'GET';
  if (http.config.urls.downloads === 'direct' && http.store.presign !== undefined) {
    const read = {
      method,
      seconds: Math.max(1, Math.floor(expireAt - http.now() / 1000)),
      mimeType: contentTypeOf(file.mimeType),
      disposition: disposition(file),
    } as const;
    ctx.status = 307;
    ctx.set({ Location: await http.store.presign(file.key, read), 'Cache-Control': 'private, no-store' });
    if (isForAnyPage) ctx.set(FOR_ANY_PAGE);
    ctx.body = '';
    return undefined;
  }
  const request = { ...file, store: http.store, method, headers: ctx.req.headers, expireAt } as const;
  const response = await mediaResponse(request).catch((error: unknown) => {
    if (error instanceof ObjectNotFoundError) {
      http.logger.error({ objectId: file.id }, 'the object behind a URL is missing');
    }
    throw error;
  });
  const { headers } = response;
  return sendMedia(ctx, { ...response, headers: isForAnyPage ? headers : withoutCrossOrigin(headers) });
}

/** Sends a response that was made from the store's. */
export function sendMedia(
  ctx: ParameterizedContext<RequestState>,
  { status, headers, body }: MediaResponse,
): undefined {
  ctx.status = status;
  ctx.set(headers);
  if (body !== undefined) ctx.body = body;
  // Koa writes the status as text into an error response that has no body.
  else if (status >= 400) ctx.body = '';
  // Koa must not guess a type or a length of its own.
  ctx.set(headers);
  return undefined;
}

/** The headers of a response for the holder of a key, and not for any page. */
export function withoutCrossOrigin(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !/^(?:Access-Control|Cross-Origin)-/.test(name)),
  );
}
