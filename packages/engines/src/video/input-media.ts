/**
 * The files of an input, decoded. All of them are untrusted: only `@darkroom/media/decode` reads them, and a problem with
 * a file is reported with its path in the input.
 */
import { decodePicture, decodeSound, lastFrameOf, openClip } from '@darkroom/media/decode';
import type { Clip, DecodedPicture, DecodedSound } from '@darkroom/media/decode';
import { UndecodableMediaError } from '../engine.ts';
import type { EngineMedia } from '../engine.ts';
import type { FilmSize } from './video-size.ts';

/** Twice the longest video side: the part that the camera moves into is still sharp. */
const MAX_EDGE = 4096;

/** Runs a decoding; a problem with the file begins with its path: `image_urls.0: …`. */
async function at<Result>(
  place: string,
  media: EngineMedia,
  decode: (path: string) => Promise<Result>,
): Promise<Result> {
  const file = media.get(place);
  if (file === undefined) throw new UndecodableMediaError(`${place}: missing`, { kind: 'missing', field: place });
  try {
    return await decode(file.path);
  } catch (error) {
    if (!(error instanceof UndecodableMediaError)) throw error;
    throw error.at(place);
  }
}

/** The paths of a list of files, in their order: `image_urls.0`, `image_urls.1`, … */
export function placesOf(media: EngineMedia, field: string): readonly string[] {
  const places: string[] = [];
  for (let index = 0; media.has(`${field}.${index}`); index++) places.push(`${field}.${index}`);
  return places;
}

/** @throws {UndecodableMediaError} */
export function readPicture(media: EngineMedia, place: string): Promise<DecodedPicture> {
  return at(place, media, (path) => decodePicture(path, { maxEdge: MAX_EDGE }));
}

/** The last frame of a video. @throws {UndecodableMediaError} */
export function readLastFrame(media: EngineMedia, place: string): Promise<DecodedPicture> {
  return at(place, media, (path) => lastFrameOf(path, { maxEdge: MAX_EDGE }));
}

/** Audio in stereo at 48 kHz. @throws {UndecodableMediaError} */
export function readSound(media: EngineMedia, place: string, maxSeconds: number): Promise<DecodedSound> {
  return at(place, media, (path) => decodeSound(path, { sampleRate: 48_000, maxSeconds }));
}

/** A video from a given second on. @throws {UndecodableMediaError} also while its frames are read. */
export function readClip(
  media: EngineMedia,
  place: string,
  options: FilmSize & { readonly fps: number; readonly startSeconds: number; readonly maxFrames: number },
): Promise<Clip> {
  return at(place, media, (path) => openClip(path, options));
}

/** The frames of a clip; an error states the path of the clip. */
export async function* framesOf(place: string, clip: Clip): AsyncGenerator<Buffer, void> {
  try {
    yield* clip.frames;
  } catch (error) {
    if (!(error instanceof UndecodableMediaError)) throw error;
    throw error.at(place);
  }
}
