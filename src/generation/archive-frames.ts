/**
 * The images that accompany a video (contract §3): its first frame, its last frame and a thumbnail, made from the
 * stored bytes. A video that cannot be decoded is delivered without them: it is what the provider generated.
 */
import { createWriteStream } from 'node:fs';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { deriveFrames } from '@darkroom/media/frames';
import type { DerivedFrames } from '@darkroom/media/frames';
import { UndecodableMediaError } from '@darkroom/media/undecodable-media-error';
import type { ArchivedOutput } from '../domain/run-record.ts';
import type { WorkingTask } from '../tasks/lifecycle/transitions.ts';
import type { Attempt } from './attempt.ts';
import type { GenerationContext } from './context.ts';
import { withScratch } from './scratch.ts';
import { attemptKey } from './stage-files.ts';

/**
 * @param position of the first frame among the task's outputs.
 * @returns three frames, or none.
 * @throws {GenerationFailure} retryable: too many tasks wait for a decoder, or this one would have to wait inside a
 *   workflow's worker.
 */
export async function archiveFrames(
  context: GenerationContext,
  attempt: Attempt,
  { id: taskId, accountId }: Pick<WorkingTask, 'id' | 'accountId'>,
  video: ArchivedOutput,
  position: number,
  signal: AbortSignal,
): Promise<readonly ArchivedOutput[]> {
  const frames = await context.frameDecoders.run(accountId, () => decode(context, taskId, video, signal), {
    signal,
    waitMs: attempt.isLocal ? 0 : undefined,
  });
  if (frames === undefined) return [];
  const outputs: ArchivedOutput[] = [];
  for (const [type, { jpeg, width, height }] of [
    ['first_frame', frames.first],
    ['last_frame', frames.last],
    ['thumbnail', frames.thumbnail],
  ] as const) {
    const objectKey = attemptKey(attempt, taskId, 'archived', position + outputs.length);
    const mimeType = 'image/jpeg';
    const put = await context.store.put(objectKey, jpeg, { mimeType, signal });
    outputs.push({ type, objectKey, mimeType, ...put, width, height });
  }
  return outputs;
}

async function decode(
  context: GenerationContext,
  taskId: WorkingTask['id'],
  video: ArchivedOutput,
  signal: AbortSignal,
): Promise<DerivedFrames | undefined> {
  return withScratch(context.config.worker.scratchDir, async (directory) => {
    const file = path.join(directory, 'video');
    await pipeline(await context.store.read(video.objectKey), createWriteStream(file), { signal });
    try {
      return await deriveFrames(file, { signal });
    } catch (err) {
      if (!(err instanceof UndecodableMediaError)) throw err;
      context.logger.warn({ err, taskId }, 'video cannot be decoded and is delivered without frames');
      return undefined;
    }
  });
}
