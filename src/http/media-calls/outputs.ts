/** The files of a task that has succeeded, as the body of a response. */
import { Readable } from 'node:stream';
import type { ParameterizedContext } from 'koa';
import { readServableOutput } from '../../objects/outputs/outputs.ts';
import type { ServableOutput } from '../../objects/outputs/outputs.ts';
import { isOutputGone } from '../../tasks/record/read.ts';
import type { TaskDetail, TaskOutput } from '../../tasks/record/read.ts';
import type { HttpContext, RequestState } from '../app/context.ts';
import { RequestError } from '../app/errors.ts';

/** @throws {RequestError} 404: one of them was deleted, or has expired. */
export function requireOutputs(http: HttpContext, task: TaskDetail): readonly TaskOutput[] {
  if (!task.outputs.some((output) => isOutputGone(output, http.now()))) return task.outputs;
  const message = `the outputs of the task ${task.id} were deleted or have expired; use a new Idempotency-Key for a new task`;
  throw new RequestError('not_found', message, { code: 'output_expired' });
}

/** What reading the bytes of an output needs. @throws {OutputNotFoundError} */
export function servable(http: HttpContext, { id }: TaskOutput): Promise<ServableOutput> {
  return readServableOutput(http.database, id);
}

/**
 * Sends JSON with files in it, made while it is sent: of all files, only the chunk that is being sent is in memory. Its
 * length is known before, so that a client notices if it breaks off.
 */
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

/** A stored file that becomes a part of a body. */
export interface Base64File {
  readonly sizeBytes: number;
  open(): Promise<Readable>;
}

/** A part of the body: JSON text, or a file whose base64 is written in its place. */
export type BodyPart = string | Base64File;

/** The length of the body in bytes. */
export function lengthOf(parts: readonly BodyPart[]): number {
  return parts
    .map((part) => (typeof part === 'string' ? Buffer.byteLength(part) : 4 * Math.ceil(part.sizeBytes / 3)))
    .reduce((sum, length) => sum + length, 0);
}

/** The body in chunks. @throws {Error} a file cannot be read to its end. */
export async function* chunksOf(parts: readonly BodyPart[]): AsyncGenerator<string> {
  for (const part of parts) {
    if (typeof part === 'string') yield part;
    else yield* base64Of(await part.open(), part.sizeBytes);
  }
}

/** Three bytes are four characters: what is left of a chunk is encoded with the next one. */
async function* base64Of(file: Readable, sizeBytes: number): AsyncGenerator<string> {
  let rest: Buffer = Buffer.alloc(0);
  let read = 0;
  for await (const chunk of file as AsyncIterable<Buffer>) {
    read += chunk.length;
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const whole = bytes.length - (bytes.length % 3);
    if (whole > 0) yield bytes.toString('base64', 0, whole);
    rest = bytes.subarray(whole);
  }
  if (read !== sizeBytes) throw new Error(`a stored file has ${read} bytes instead of ${sizeBytes}`);
  if (rest.length > 0) yield rest.toString('base64');
}
