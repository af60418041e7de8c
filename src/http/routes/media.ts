/**
 * `GET|HEAD /media/{token}/{name}`: the bytes of an output, for whoever holds its signed URL (contract §3). No key.
 */
import { mediaResponse } from '../../files/media-response.ts';
import { ObjectNotFoundError } from '../../files/object-store.ts';
import { readServableOutput } from '../../outputs/outputs.ts';
import { outputFileName } from '../../wire/task.ts';
import type { HttpContext } from '../context.ts';
import { defineRoute } from '../route.ts';
import type { Route } from '../route.ts';

export function mediaRoutes(http: HttpContext): readonly Route[] {
  return [
    // A GET route answers HEAD as well.
    defineRoute({
      method: 'GET',
      path: '/media/{token}/{name}',
      operationId: 'downloadMedia',
      tag: 'Media',
      summary: 'Download the bytes behind a signed URL',
      description: 'Conditional and range requests by RFC 9110; several ranges in one request are answered whole.',
      access: 'none',
      params: { token: 'What the URL was signed with.', name: 'A file name for people; it decides nothing.' },
      headers: { Range: 'One range of bytes.' },
      answer: {
        kind: 'other',
        mimeTypes: ['image/*', 'video/*', 'audio/*'],
        description: 'The bytes; 206 for a range.',
      },
      errors: ['URL_EXPIRED', 'FORBIDDEN', 'NOT_FOUND'],
      async handle({ ctx, params }) {
        const { outputId, expireAt } = http.urlSigner.verify(params['token'] ?? '');
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
          if (error instanceof ObjectNotFoundError)
            http.logger.error({ outputId }, 'the bytes of an output are missing');
          throw error;
        });
        ctx.status = status;
        ctx.set(headers);
        if (body !== undefined) ctx.body = body;
        // Koa writes the status as text into an error that has no body.
        else if (status >= 400) ctx.body = '';
        // Koa must not guess a type or a length of its own.
        ctx.set(headers);
        return undefined;
      },
    }),
  ];
}
