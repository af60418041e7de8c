/**
 * The engine of the video models: a short video of the scene that a prompt describes, of an image that comes to life,
 * of clips cut together, or of a continuation of a clip. `@darkroom/media/decode` reads the input files and
 * `@darkroom/media/encode` writes the video, each in processes of their own.
 */
import path from 'node:path';
import { openVideo } from '@darkroom/media/encode';
import type { EngineWork, RenderedFile } from '../engine.ts';
import { createRandom, hashText } from '@darkroom/seeded-random/random';
import { videoSize } from './video-size.ts';
import { encodeVideo } from './video-rendering.ts';
import type { Video } from './video-rendering.ts';
import { readVideoRequest } from './video-request.ts';
import { planBlend } from './plan-blend.ts';
import { planContinuation, planImageVideo } from './plan-image.ts';
import { planSceneVideo } from './plan-scene.ts';
import type { VideoPlan } from './video-plan.ts';
import { writeTrack } from './audio/track.ts';

/**
 * Plans the video that an input requests.
 *
 * @throws {UndecodableMediaError} a file of the input cannot be used.
 */
export async function planVideo({
  input,
  seed,
  media,
}: Pick<EngineWork, 'input' | 'seed' | 'media'>): Promise<VideoPlan> {
  const request = readVideoRequest(input, media);
  const random = createRandom(hashText(`${seed}/${request.reading.scene.scenery}`));
  const context = {
    request,
    media,
    random,
    sizeFor: (source?: Video['size']) => videoSize(input, source, request.isDraft),
  };
  if (request.clips.length > 0) return planBlend(context);
  if (request.startVideo !== undefined) return planContinuation(context, request.startVideo);
  if (request.firstImage !== undefined) return planImageVideo(context, request.firstImage);
  return planSceneVideo(context);
}

/** Renders a video. Input: the fields of the video models (models/*.json with the engine `film`). */
export async function renderVideo(work: EngineWork): Promise<readonly RenderedFile[]> {
  const plan = await planVideo(work);
  const { size, fps } = plan.video;
  const audio = plan.audio === undefined ? undefined : path.join(work.scratch, 'audio.wav');
  if (plan.audio !== undefined && audio !== undefined) await writeTrack(audio, plan.audio);
  work.pausePoint?.();
  const file = path.join(work.scratch, 'video.mp4');
  const writer = await openVideo({
    path: file,
    ...size,
    fps,
    quality: plan.isDraft ? 'draft' : 'standard',
    ...(audio === undefined ? {} : { audio: { path: audio } }),
  });
  await encodeVideo(plan.video, writer, work);
  return [{ path: file }];
}
