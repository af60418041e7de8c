/**
 * The engine of the video models: a short video of the scene that a prompt describes, of an image that comes to life,
 * of clips cut together, or of a continuation of a clip. `@darkroom/media/decode` reads the input files and
 * `@darkroom/media/encode` writes the video, each in processes of their own.
 */
import path from 'node:path';
import { openVideo } from '@darkroom/media/encode';
import type { EngineWork, RenderedFile } from '../engine.ts';
import { createRandom, hashText } from '@darkroom/seeded-random/random';
import { filmSize } from './video-size.ts';
import { encodeFilm } from './video-rendering.ts';
import type { Film } from './video-rendering.ts';
import { readFilmRequest } from './video-request.ts';
import { planBlend } from './plan-blend.ts';
import { planContinuation, planPictureFilm } from './plan-image.ts';
import { planSceneFilm } from './plan-scene.ts';
import type { FilmPlan } from './video-plan.ts';
import { writeTrack } from './audio/track.ts';

/**
 * Plans the video that an input requests.
 *
 * @throws {UndecodableMediaError} a file of the input cannot be used.
 */
export async function planFilm({
  input,
  seed,
  media,
}: Pick<EngineWork, 'input' | 'seed' | 'media'>): Promise<FilmPlan> {
  const request = readFilmRequest(input, media);
  const random = createRandom(hashText(`${seed}/${request.reading.picture.scenery}`));
  const context = {
    request,
    media,
    random,
    sizeFor: (source?: Film['size']) => filmSize(input, source, request.isDraft),
  };
  if (request.clips.length > 0) return planBlend(context);
  if (request.startVideo !== undefined) return planContinuation(context, request.startVideo);
  if (request.firstPicture !== undefined) return planPictureFilm(context, request.firstPicture);
  return planSceneFilm(context);
}

/** Renders a video. Input: the fields of the video models (models/*.json with the engine `film`). */
export async function renderFilm(work: EngineWork): Promise<readonly RenderedFile[]> {
  const plan = await planFilm(work);
  const { size, fps } = plan.film;
  const sound = plan.sound === undefined ? undefined : path.join(work.scratch, 'sound.wav');
  if (plan.sound !== undefined && sound !== undefined) await writeTrack(sound, plan.sound);
  work.pausePoint?.();
  const file = path.join(work.scratch, 'film.mp4');
  const writer = await openVideo({
    path: file,
    ...size,
    fps,
    quality: plan.isDraft ? 'draft' : 'standard',
    ...(sound === undefined ? {} : { sound: { path: sound } }),
  });
  await encodeFilm(plan.film, writer, work);
  return [{ path: file }];
}
