/**
 * `GET|HEAD /media/{token}/{name}`: the bytes of an output, for whoever holds its signed URL (contract §3). No key.
 */
import type Router from '@koa/router';
import { mediaResponse } from '../files/media-response.ts';
import { ObjectNotFoundError } from '../files/object-store.ts';
import { readServableOutput } from '../outputs/outputs.ts';
import { outputFileName } from '../wire/task.ts';
import type { HttpContext } from './context.ts';
import type { RequestState } from './middleware.ts';

export function registerMediaRoutes(router: Router<RequestState>, http: HttpContext): void {
  // A GET route answers HEAD as well.
  router.get('/media/:token/:name', async (ctx) => {
    const { outputId, expireAt } = http.urlSigner.verify(ctx.params['token'] ?? '');
    const output = await readServableOutput(http.database, outputId);
    const { status, headers, body } = await mediaResponse({
      store: http.store,
      key: output.objectKey,
      method: ctx.method === 'HEAD' ? 'HEAD' : 'GET',
      headers: ctx.req.headers,
      sizeBytes: output.sizeBytes,
      mimeType: output.mimeType,
      sha256: output.sha256,
      fileName: outputFileName(output.taskId, output),
      expireAt,
    }).catch((error: unknown) => {
      if (error instanceof ObjectNotFoundError) http.logger.error({ outputId }, 'the bytes of an output are missing');
      throw error;
    });
    ctx.status = status;
    ctx.set(headers);
    if (body !== undefined) ctx.body = body;
    // Koa writes the status as text into an error that has no body.
    else if (status >= 400) ctx.body = '';
    // Koa must not guess a type or a length of its own.
    ctx.set(headers);
  });
}
