/** The files of a task that has succeeded, as the body of a response. */
import { Readable } from 'node:stream';
import type { ParameterizedContext } from 'koa';
import { readServableOutput } from '../../objects/outputs/outputs.ts';
import type { ServableOutput } from '../../objects/outputs/outputs.ts';
import type { TaskDetail, TaskOutput } from '../../tasks/record/read.ts';
import type { HttpContext, RequestState } from '../app/context.ts';
import { RequestError } from '../app/errors.ts';
import type { BodyPart } from './base64-body.ts';
import { chunksOf, lengthOf } from './base64-body.ts';

/** @throws {RequestError} 404: one of them was deleted, or has expired. */
export function requireOutputs(http: HttpContext, task: TaskDetail): readonly TaskOutput[] {
  const isGone = ({ goneAt, retainUntil }: TaskOutput): boolean =>
    goneAt !== null || (retainUntil !== null && retainUntil * 1000 <= http.now());
  if (!task.outputs.some(isGone)) return task.outputs;
  const message = `the outputs of the task ${task.id} were deleted or have expired; use a new Idempotency-Key for a new task`;
  throw new RequestError('not_found', message, { code: 'output_expired' });
}

/** What reading the bytes of an output needs. @throws {OutputNotFoundError} */
export function servable(http: HttpContext, { id }: TaskOutput): Promise<ServableOutput> {
  return readServableOutput(http.database, id);
}

/** Sends JSON with files in it. */
export function sendParts(
  http: HttpContext,
  ctx: ParameterizedContext<RequestState>,
  parts: readonly BodyPart[],
): void {
  ctx.type = 'application/json; charset=utf-8';
  sendStream(http, ctx, Readable.from(chunksOf(parts), { objectMode: false }), lengthOf(parts));
}

/** Sends a body of known length. If it cannot be sent to its end, the connection is closed, so the client notices. */
export function sendStream(
  http: HttpContext,
  ctx: ParameterizedContext<RequestState>,
  body: Readable,
  sizeBytes: number,
): void {
  const { type } = ctx;
  const contentType = ctx.response.get('Content-Type');
  ctx.status = 200;
  ctx.set('Cache-Control', 'no-store');
  ctx.body = body;
  if (type !== '') ctx.set('Content-Type', contentType);
  ctx.length = sizeBytes;
  body.once('error', (error) => {
    http.logger.error({ err: error }, 'sending the outputs of a task failed');
    ctx.res.destroy();
  });
}
