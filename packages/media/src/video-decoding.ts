/**
 * Videos as pixels: frames at a constant rate for a clip, and single frames for stills. Frames are chosen by their
 * timestamps, as a player shows them: at each moment the last one that has begun. Runs in media children only.
 */
import {
  AVCOL_SPC_BT709,
  AVCOL_SPC_SMPTE170M,
  AVCOL_SPC_UNSPECIFIED,
  AV_PKT_DATA_DISPLAYMATRIX,
} from 'node-av/constants';
import type { Frame } from 'node-av/lib';
import { requireVideoSize, openTrack } from './av-input.ts';
import type { Track } from './av-input.ts';
import type { ParentChannel } from './child-channel.ts';
import { FilterChain } from './filter-chain.ts';
import { UndecodableMediaError } from './undecodable-media-error.ts';

/** Timestamps are rounded to the container's clock: a frame that begins this little after a moment counts as begun. */
const ROUNDING_SECONDS = 0.002;

/** A moment of a video: its first or last frame, a time in seconds, or a fraction of its duration. */
export type Moment = 'first' | 'last' | { readonly seconds: number } | { readonly fraction: number };

/** One requested frame. */
export interface Still {
  readonly moment: Moment;
  /** Its longest edge in pixels; never enlarged. */
  readonly maxEdge: number;
}

/** One frame as RGBA pixels. */
export interface DecodedFrame {
  readonly width: number;
  readonly height: number;
  readonly rgba: Buffer;
}

/** How a frame is fitted: a size that it covers, cut at the edges, or the longest edge that it stays below. */
type Fit = { readonly cover: { readonly width: number; readonly height: number } } | { readonly maxEdge: number };

/** The request for a clip (decode.ts). */
export interface ClipRequest {
  readonly path: string;
  readonly width: number;
  readonly height: number;
  readonly fps: number;
  readonly startSeconds: number;
  readonly maxFrames: number;
}

/** Sends the video's metadata, then its frames, then a message that it is over. */
export async function decodeClip(request: ClipRequest, channel: ParentChannel): Promise<void> {
  const track = await openTrack(request.path, 'video');
  const converter = new FrameConverter(track, { cover: request });
  const size = displaySize(track);
  await channel.sendJson({ durationSeconds: track.durationSeconds ?? 0, hasAudio: track.hasAudio, ...size });
  const from = track.startSeconds + request.startSeconds;
  if (request.startSeconds > 0) await track.seek(from);
  let sent = 0;
  const isDue = (until: number): boolean =>
    sent < request.maxFrames && from + sent / request.fps + ROUNDING_SECONDS < until;
  // A frame is shown until the next begins, whatever duration it states; it is painted when a moment first shows it.
  let [shown, converted, shownUntil]: [Frame | undefined, DecodedFrame | undefined, number] = [undefined, undefined, 0];
  const show = async (until: number): Promise<void> => {
    while (shown !== undefined && isDue(until)) {
      converted ??= await converter.convert(shown);
      await channel.sendBytes(converted.rgba);
      sent += 1;
    }
  };
  for await (const frame of track.frames()) {
    const begins = timeOf(frame, track);
    await show(begins);
    if (sent >= request.maxFrames) break;
    shown?.free();
    [shown, converted, shownUntil] = [frame.clone() ?? undefined, undefined, begins + durationOf(frame, track)];
  }
  await show(shownUntil);
  if (shown === undefined) throw new UndecodableMediaError('damaged: none of its frames can be decoded');
  await channel.sendJson({ isOver: true });
}

/** The frame that a video shows at a moment. @throws {UndecodableMediaError} */
export async function decodeStill(path: string, { moment, maxEdge }: Still): Promise<DecodedFrame> {
  const track = await openTrack(path, 'video');
  try {
    const image = await decodeFrameAt(track, moment, maxEdge);
    if (image === undefined) throw new UndecodableMediaError('damaged: none of its frames can be decoded');
    return image;
  } finally {
    await track.close();
  }
}

async function decodeFrameAt(track: Track, moment: Moment, maxEdge: number): Promise<DecodedFrame | undefined> {
  const converter = new FrameConverter(track, { maxEdge });
  const at = track.startSeconds + secondsOf(moment, track.durationSeconds ?? 0);
  if (moment !== 'first') await track.seek(at);
  const last = await lastFrameUntil(track, at);
  if (last !== undefined) return converter.convert(last).finally(() => last.free());
  // A wrong index, or a file that ends before it says: decode from the beginning then.
  if (moment === 'first') return undefined;
  await track.seek(track.startSeconds);
  const found = await lastFrameUntil(track, at);
  return found === undefined ? undefined : converter.convert(found).finally(() => found.free());
}

async function lastFrameUntil(track: Track, seconds: number): Promise<Frame | undefined> {
  let last: Frame | undefined;
  for await (const frame of track.frames()) {
    if (last !== undefined && timeOf(frame, track) > seconds + ROUNDING_SECONDS) break;
    last?.free();
    last = frame.clone() ?? undefined;
  }
  return last;
}

function secondsOf(moment: Moment, durationSeconds: number): number {
  if (moment === 'first') return 0;
  if (moment === 'last') return durationSeconds;
  return 'seconds' in moment ? moment.seconds : moment.fraction * durationSeconds;
}

function timeOf(frame: Frame, track: Track): number {
  return Number(frame.bestEffortTimestamp) * track.stream.timeBase.toDouble();
}

function durationOf(frame: Frame, track: Track): number {
  const statedSeconds = Number(frame.duration) * track.stream.timeBase.toDouble();
  if (statedSeconds > 0) return statedSeconds;
  const rate = track.stream.avgFrameRate;
  return rate.num > 0 && rate.den > 0 ? rate.den / rate.num : 1 / 25;
}

/**
 * Turns decoded frames into pixels of the requested size, upright and in sRGB. Videos may change their size partway
 * through.
 */
class FrameConverter {
  readonly #track: Track;
  readonly #fit: Fit;
  #chain: FilterChain | undefined;
  #inputFormat = '';

  constructor(track: Track, fit: Fit) {
    this.#track = track;
    this.#fit = fit;
  }

  async convert(frame: Frame): Promise<DecodedFrame> {
    requireVideoSize(frame.width, frame.height);
    if (frame.colorSpace === AVCOL_SPC_UNSPECIFIED) {
      // What players assume if a video does not state it: the standard of television for SD, that of HD for HD.
      frame.colorSpace = frame.height > 576 ? AVCOL_SPC_BT709 : AVCOL_SPC_SMPTE170M;
    }
    const { num, den } = this.#track.stream.timeBase;
    const inputFormat =
      `video_size=${frame.width}x${frame.height}:pix_fmt=${frame.format}:time_base=${num}/${den}` +
      `:colorspace=${frame.colorSpace}:range=${frame.colorRange}`;
    if (inputFormat !== this.#inputFormat) {
      this.#chain?.close();
      this.#chain = await FilterChain.open('video', inputFormat, this.#filters(frame));
      this.#inputFormat = inputFormat;
    }
    const [converted] = (await this.#chain?.process(frame)) ?? [];
    if (converted === undefined) throw new Error('the filters returned no frame');
    const { width, height } = converted;
    const rgba = converted.toBuffer();
    converted.free();
    return { width, height, rgba };
  }

  #filters(frame: Frame): string {
    const filters = [...rotationFilters(this.#track)];
    const { num, den } = pixelAspectRatio(this.#track);
    if (num !== den) filters.unshift(`scale=w=iw*${num}/${den}:h=ih:flags=bicubic`);
    if ('cover' in this.#fit) {
      const { width, height } = this.#fit.cover;
      filters.push(
        `scale=w=${width}:h=${height}:force_original_aspect_ratio=increase:flags=bicubic`,
        `crop=${width}:${height}`,
      );
    } else {
      const edge = this.#fit.maxEdge;
      const isLarge = Math.max((frame.width * num) / den, frame.height) > edge;
      if (isLarge) filters.push(`scale=w=${edge}:h=${edge}:force_original_aspect_ratio=decrease:flags=bicubic`);
    }
    return [...filters, 'setsar=1', 'format=rgba'].join(',');
  }
}

/** How wide a pixel is relative to its height: 1:1 unless the file says otherwise, within reason. */
function pixelAspectRatio(track: Track): { readonly num: number; readonly den: number } {
  const { num, den } =
    track.stream.sampleAspectRatio.num > 0 ? track.stream.sampleAspectRatio : track.stream.codecpar.sampleAspectRatio;
  const isSensible = num > 0 && den > 0 && num / den <= 4 && den / num <= 4;
  return isSensible ? { num, den } : { num: 1, den: 1 };
}

/** The filters that rotate a video as its display matrix says: phones write one instead of rotating the image. */
function rotationFilters(track: Track): readonly string[] {
  const matrix = track.stream.codecpar.getCodedSideData(AV_PKT_DATA_DISPLAYMATRIX);
  if (matrix === null || matrix.length < 36) return [];
  const at = (index: number): number => matrix.readInt32LE(index * 4);
  const degrees = Math.round((Math.atan2(at(1), at(0)) * 180) / Math.PI);
  if (degrees === 90) return [at(3) > 0 ? 'transpose=cclock_flip' : 'transpose=clock'];
  if (degrees === -90) return [at(3) < 0 ? 'transpose=clock_flip' : 'transpose=cclock'];
  return [...(at(0) < 0 ? ['hflip'] : []), ...(at(4) < 0 ? ['vflip'] : [])];
}

/** The size at which a player shows the video. */
function displaySize(track: Track): { readonly width: number; readonly height: number } {
  const { width, height } = track.stream.codecpar;
  const { num, den } = pixelAspectRatio(track);
  const shown = { width: Math.round((width * num) / den), height };
  const isRotated = rotationFilters(track).some((filter) => filter.startsWith('transpose'));
  return isRotated ? { width: shown.height, height: shown.width } : shown;
}
