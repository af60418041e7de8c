/**
 * Untrusted files as trusted pixels and samples. Each call is one child process that reads one local file with a
 * bound on its memory, time, pixels and seconds, in a sandbox (sandbox.ts): nothing here decodes in the calling
 * process. All calls throw `UndecodableMediaError` for the file's faults; its message names no path.
 *
 * Bounds: images 100 megapixels; videos 4096 x 4096 pixels; video and audio 600 s; 1 GB of memory, and half
 * as much again for a photograph that is written as a JPEG.
 */
import { resolve } from 'node:path';
import { CollectedBytes } from './collected-bytes.ts';
import type { DecodeRequest } from './decode-child.ts';
import { MAX_VIDEO_EDGE, MAX_SECONDS } from './video-bounds.ts';
import type { Moment, Still } from './video-decoding.ts';
import { MediaChild } from './media-child.ts';
import { childModulePath } from './program-files.ts';

const MAX_MEMORY_MB = 1024;
/** The largest photographs of phones, 48 megapixels, take 1.1 GB: WebAssembly returns no memory. */
const PHOTOGRAPH_MEMORY_MB = 1536;
/** 8192: the largest image that any caller requests has 4096 pixels on its long edge. */
const MAX_EDGE = 8192;

/** A request to decode a file on disk. */
type FileRequest = Extract<DecodeRequest, { readonly path: string }>;

/** Pixels, row by row, red green blue alpha, one byte each; alpha is not premultiplied; sRGB. */
export interface DecodedImage {
  readonly width: number;
  readonly height: number;
  readonly rgba: Buffer;
}

/** An image as a JPEG file. */
export interface Jpeg {
  readonly width: number;
  readonly height: number;
  readonly jpeg: Buffer;
}

/** Stereo samples, -1 to 1 where nothing was clipped; mono audio is on both channels. */
export interface DecodedAudio {
  readonly channels: readonly [Float32Array, Float32Array];
  readonly seconds: number;
}

/** A video that is being decoded. */
export interface Clip {
  /** The duration of the whole video; 0 if the file does not state it. */
  readonly durationSeconds: number;
  /** The width as a player shows it: turned upright, with square pixels. */
  readonly width: number;
  readonly height: number;
  readonly hasAudio: boolean;
  /** RGBA of the requested size, as in `DecodedPicture`. May be iterated once; leaving the loop ends the decoding. */
  readonly frames: AsyncIterable<Buffer>;
  /** Ends the decoding; needed only if the frames are not iterated. */
  close(): Promise<void>;
}

function startDecoding(request: FileRequest, signal: AbortSignal | undefined): Promise<MediaChild> {
  const module = childModulePath('decode-child');
  const { path } = request;
  const isPhotograph = request.decode === 'image' && request.as === 'jpeg';
  const maxMemoryMb = isPhotograph ? PHOTOGRAPH_MEMORY_MB : MAX_MEMORY_MB;
  return MediaChild.start(
    { module, isUntrusted: true, maxMemoryMb, readable: [path], signal },
    { ...request, path: resolve(path) },
  );
}

/**
 * Decodes an image (PNG, JPEG, WebP, GIF, AVIF, HEIC), turned upright; of an animated one the first frame.
 *
 * @param options.maxEdge the longest edge of the result, 1 to 8192 pixels; smaller images keep their size.
 * @throws {UndecodableMediaError}
 * @throws {DOMException} `AbortError` when the signal fires; so do all calls below.
 */
export async function decodeImage(
  path: string,
  options: { readonly maxEdge: number },
  signal?: AbortSignal,
): Promise<DecodedImage> {
  const [image] = await receiveImages({ decode: 'image', path, maxEdge: requireMaxEdge(options.maxEdge) }, 1, signal);
  if (image === undefined) throw new Error('the child sent no image');
  return image;
}

/** An image as a JPEG file, upright, for readers that do not know its type. @throws {UndecodableMediaError} */
export async function jpegOf(path: string, signal?: AbortSignal): Promise<Jpeg> {
  const [image] = await receiveImages({ decode: 'image', path, maxEdge: MAX_EDGE, as: 'jpeg' }, 1, signal);
  if (image === undefined) throw new Error('the child sent no image');
  return { width: image.width, height: image.height, jpeg: image.rgba };
}

/**
 * The frames that a video (MP4, MOV, WebM, Matroska) shows at some moments, in the order of the moments; `last` for
 * all moments beyond its end.
 *
 * @param options.maxEdge the longest edge of the results, 1 to 8192 pixels.
 * @throws {UndecodableMediaError}
 */
export async function framesAt(
  path: string,
  options: { readonly moments: readonly Moment[]; readonly maxEdge: number },
  signal?: AbortSignal,
): Promise<readonly DecodedImage[]> {
  const stills = options.moments.map((moment) => ({ moment, maxEdge: requireMaxEdge(options.maxEdge) }));
  return receiveImages({ decode: 'stills', path, stills, as: 'rgba' }, stills.length, signal);
}

/** Frames of a video as JPEG files, in their order; sizes as in `framesAt`. @throws {UndecodableMediaError} */
export async function jpegsAt(path: string, stills: readonly Still[], signal?: AbortSignal): Promise<readonly Jpeg[]> {
  const images = await receiveImages({ decode: 'stills', path, stills, as: 'jpeg' }, stills.length, signal);
  return images.map(({ width, height, rgba }) => ({ width, height, jpeg: rgba }));
}

/** The last frame of a video, like `framesAt`. @throws {UndecodableMediaError} */
export async function lastFrameOf(
  path: string,
  options: { readonly maxEdge: number },
  signal?: AbortSignal,
): Promise<DecodedImage> {
  const [image] = await framesAt(path, { moments: ['last'], maxEdge: options.maxEdge }, signal);
  if (image === undefined) throw new Error('the child sent no image');
  return image;
}

/**
 * Decodes an audio file (MP3, WAV, FLAC, Ogg, M4A, AAC), or the audio of a video.
 *
 * @param options.sampleRate of the result, in Hz, 8000 to 192000.
 * @param options.maxSeconds more than 0, at most 600: anything after that is left out.
 * @throws {UndecodableMediaError}
 */
export async function decodeAudio(
  path: string,
  options: { readonly sampleRate: number; readonly maxSeconds: number },
  signal?: AbortSignal,
): Promise<DecodedAudio> {
  const { sampleRate, maxSeconds } = options;
  if (!(maxSeconds > 0 && maxSeconds <= MAX_SECONDS)) {
    throw new RangeError(`maxSeconds must be above 0 and at most ${MAX_SECONDS}`);
  }
  if (!(sampleRate >= 8000 && sampleRate <= 192_000)) throw new RangeError('sampleRate must be 8000 to 192000');
  const child = await startDecoding({ decode: 'audio', path, sampleRate, maxSeconds }, signal);
  try {
    // The file determines the size of a piece: it may be a few samples.
    const [left, right] = [new CollectedBytes(), new CollectedBytes()];
    for (;;) {
      const message = await child.receive();
      if (message.kind === 'json') break;
      const half = message.bytes.length / 2;
      left.push(message.bytes.subarray(0, half));
      right.push(message.bytes.subarray(half));
    }
    const channels = [takeSamples(left), takeSamples(right)] as const;
    return { channels, seconds: channels[0].length / sampleRate };
  } finally {
    await child.end();
  }
}

/**
 * Opens a video and decodes frames of one size at one rate, as they are requested.
 *
 * @param options.width and height: 1 to 4096 pixels. The video covers them; the excess is cut off evenly.
 * @param options.fps frames per second, above 0: frame n shows the moment startSeconds + n / fps.
 * @param options.startSeconds 0 if omitted.
 * @param options.maxFrames the video may end before.
 * @throws {UndecodableMediaError} also while the frames are iterated.
 */
export async function openClip(
  path: string,
  options: {
    readonly width: number;
    readonly height: number;
    readonly fps: number;
    readonly startSeconds?: number;
    readonly maxFrames: number;
  },
  signal?: AbortSignal,
): Promise<Clip> {
  const { width, height, fps, startSeconds = 0, maxFrames } = options;
  if (![width, height].every((side) => Number.isInteger(side) && side >= 1 && side <= MAX_VIDEO_EDGE)) {
    throw new RangeError(`width and height must be 1 to ${MAX_VIDEO_EDGE}`);
  }
  if (!(fps > 0 && startSeconds >= 0)) throw new RangeError('fps must be above 0 and startSeconds not below');
  const request = { decode: 'clip', path, width, height, fps, startSeconds, maxFrames } as const;
  const child = await startDecoding(request, signal);
  try {
    const metadata = (await child.receiveJson()) as unknown as Omit<Clip, 'frames' | 'close'>;
    return { ...metadata, frames: receiveFrames(child), close: () => child.end() };
  } catch (error) {
    await child.end();
    throw error;
  }
}

async function* receiveFrames(child: MediaChild): AsyncGenerator<Buffer, void> {
  try {
    for (;;) {
      const message = await child.receive();
      if (message.kind === 'json') return;
      yield message.bytes;
    }
  } finally {
    await child.end();
  }
}

async function receiveImages(
  request: FileRequest,
  count: number,
  signal: AbortSignal | undefined,
): Promise<readonly DecodedImage[]> {
  const child = await startDecoding(request, signal);
  try {
    const images: DecodedImage[] = [];
    while (images.length < count) {
      const { width, height } = await child.receiveJson();
      images.push({ width: Number(width), height: Number(height), rgba: await child.receiveBytes() });
    }
    return images;
  } finally {
    await child.end();
  }
}

function requireMaxEdge(maxEdge: number): number {
  if (!Number.isInteger(maxEdge) || maxEdge < 1 || maxEdge > MAX_EDGE) {
    throw new RangeError(`maxEdge must be 1 to ${MAX_EDGE}`);
  }
  return maxEdge;
}

/** Each piece has all of its left samples and then all of its right ones. */
function takeSamples(collected: CollectedBytes): Float32Array {
  return new Float32Array(collected.take().buffer);
}
