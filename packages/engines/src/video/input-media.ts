/**
 * The files of an input, decoded. All of them are untrusted: only `@darkroom/media/decode` reads them, and a problem with
 * a file is reported with its path in the input.
 */
import { decodeImage, decodeAudio, lastFrameOf, openClip } from '@darkroom/media/decode';
import type { Clip, DecodedImage, DecodedAudio } from '@darkroom/media/decode';
import { UndecodableMediaError } from '../engine.ts';
import type { EngineMedia } from '../engine.ts';
import type { VideoSize } from './video-size.ts';

/** Twice the longest video side: the part that the camera moves into is still sharp. */
const MAX_EDGE = 4096;

/** Runs a decoding; a problem with the file begins with its path: `image_urls.0: …`. */
async function decodeField<Result>(
  field: string,
  media: EngineMedia,
  decode: (path: string) => Promise<Result>,
): Promise<Result> {
  const file = media.get(field);
  if (file === undefined) throw new UndecodableMediaError(`${field}: missing`, { kind: 'missing', field: field });
  try {
    return await decode(file.path);
  } catch (error) {
    if (!(error instanceof UndecodableMediaError)) throw error;
    throw error.at(field);
  }
}

/** The paths of a list of files, in their order: `image_urls.0`, `image_urls.1`, … */
export function fieldPathsOf(media: EngineMedia, field: string): readonly string[] {
  const fields: string[] = [];
  for (let index = 0; media.has(`${field}.${index}`); index++) fields.push(`${field}.${index}`);
  return fields;
}

/** @throws {UndecodableMediaError} */
export function readImage(media: EngineMedia, field: string): Promise<DecodedImage> {
  return decodeField(field, media, (path) => decodeImage(path, { maxEdge: MAX_EDGE }));
}

/** The last frame of a video. @throws {UndecodableMediaError} */
export function readLastFrame(media: EngineMedia, field: string): Promise<DecodedImage> {
  return decodeField(field, media, (path) => lastFrameOf(path, { maxEdge: MAX_EDGE }));
}

/** Audio in stereo at 48 kHz. @throws {UndecodableMediaError} */
export function readAudio(media: EngineMedia, field: string, maxSeconds: number): Promise<DecodedAudio> {
  return decodeField(field, media, (path) => decodeAudio(path, { sampleRate: 48_000, maxSeconds }));
}

/** A video from a given second on. @throws {UndecodableMediaError} also while its frames are read. */
export function readClip(
  media: EngineMedia,
  field: string,
  options: VideoSize & { readonly fps: number; readonly startSeconds: number; readonly maxFrames: number },
): Promise<Clip> {
  return decodeField(field, media, (path) => openClip(path, options));
}

/** The frames of a clip; an error states the path of the clip. */
export async function* framesWithField(field: string, clip: Clip): AsyncGenerator<Buffer, void> {
  try {
    yield* clip.frames;
  } catch (error) {
    if (!(error instanceof UndecodableMediaError)) throw error;
    throw error.at(field);
  }
}
