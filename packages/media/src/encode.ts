/**
 * Our own frames and samples as files that every player plays. Each file is made by one child process fed by a pipe, so
 * that encoding runs in parallel with the rendering, and a cancelled rendering, whose thread is terminated, leaves
 * nothing running: the child ends when its pipe closes. The same frames or samples give the same bytes.
 */
import { rm } from 'node:fs/promises';
import type { EncodeRequest } from './encode-child.ts';
import { MAX_VIDEO_EDGE } from './video-bounds.ts';
import type { VideoQuality } from './video-encoding.ts';
import { MediaChild } from './media-child.ts';
import { childModulePath } from './program-files.ts';
import type { AudioFormat } from './audio-encoding.ts';

export type { VideoQuality, AudioFormat };

/** At 3840 x 2160 a child takes 750 MB, nearly all of it frames that x264 keeps (measured). */
const MAX_MEMORY_MB = 2048;
/** More than any task may take: the renderer has a deadline, and the child ends with it. */
const MAX_ENCODING_SECONDS = 24 * 60 * 60;

/** The rates that the codecs support; WAV and FLAC accept any. */
const MPEG_RATES = [8000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000] as const;
const RATES: Readonly<Partial<Record<AudioFormat, readonly number[]>>> = {
  mp3: MPEG_RATES,
  aac: MPEG_RATES,
  adts: MPEG_RATES,
  opus: [8000, 12_000, 16_000, 24_000, 48_000],
};

/** A video that is being written. */
export interface VideoWriter {
  /**
   * Adds the next frame: RGBA, row by row, 4 bytes a pixel; alpha is ignored. Waits until the encoder has taken it;
   * the buffer may be reused then.
   *
   * @throws {RangeError} the number of bytes is not that of a frame.
   * @throws {Error} the encoder failed; so do all later calls.
   */
  write(rgba: Buffer): Promise<void>;
  /** Completes the file: exactly the frames that were written. */
  finish(): Promise<void>;
  /** Ends the encoder and removes the file. Does nothing after `finish`. */
  abort(): Promise<void>;
}

/**
 * Starts an MP4 video: H.264 High, 4:2:0, BT.709, with its index in front; the audio, if any, as AAC of 128 kbit/s,
 * cut or padded with silence to the video's length.
 *
 * @param options.width and height: even, 2 to 4096 pixels.
 * @param options.fps whole frames per second, 1 to 120.
 * @param options.audio an audio file of ours, of any rate; 48 kHz stereo is taken as it is.
 * @throws {RangeError} a size or rate that a video cannot have.
 */
export async function openVideo(options: {
  readonly path: string;
  readonly width: number;
  readonly height: number;
  readonly fps: number;
  readonly quality: VideoQuality;
  readonly audio?: { readonly path: string };
}): Promise<VideoWriter> {
  const { path, width, height, fps, quality, audio } = options;
  if (
    ![width, height].every((side) => Number.isInteger(side) && side >= 2 && side <= MAX_VIDEO_EDGE && side % 2 === 0)
  ) {
    throw new RangeError(`a video cannot be ${width} x ${height}: both must be even, 2 to ${MAX_VIDEO_EDGE}`);
  }
  if (!Number.isInteger(fps) || fps < 1 || fps > 120)
    throw new RangeError(`a video cannot have ${fps} frames per second`);
  const encoder = await Encoder.start({
    encode: 'video',
    path,
    width,
    height,
    fps,
    quality,
    ...(audio === undefined ? {} : { audioPath: audio.path }),
  });
  return {
    async write(rgba) {
      if (rgba.length !== width * height * 4) throw new RangeError(`a frame has ${width * height * 4} bytes`);
      await encoder.sendBytes(rgba);
    },
    finish: () => encoder.finish(),
    abort: () => encoder.abort(),
  };
}

/**
 * Writes an audio file: `mp3`, `wav` (16 bit), `flac` (16 bit), `opus` (in Ogg), `aac` (in M4A) or `adts` (AAC without
 * a container). As many samples as went in, resampled; padding that a codec adds is marked, except in `adts`, so that
 * players leave it out.
 *
 * @param audio.samples one or two channels of -1 to 1, all of the same length; values beyond that are clipped. A
 *   stream's pieces follow each other without a seam.
 * @param audio.inputRate the rate of the samples, in Hz.
 * @param audio.sampleRate of the file, in Hz: 8000 to 192000 for `wav` and `flac`; 8000, 11025, 12000, 16000, 22050,
 *   24000, 32000, 44100 or 48000 for `mp3`, `aac` and `adts`; 8000, 12000, 16000, 24000 or 48000 for `opus`, whose files
 *   always play at 48000 and hold what the lower rate holds.
 * @param audio.bitrateKbps for `mp3`, `opus`, `aac` and `adts`; a good rate for its channels if omitted.
 * @throws {RangeError} a rate or number of channels that the format cannot have.
 * @throws {DOMException} `AbortError` when the signal fires; the file is removed.
 */
export async function writeAudio(
  audio: {
    readonly path: string;
    readonly format: AudioFormat;
    readonly inputRate: number;
    readonly sampleRate: number;
    readonly channels: 1 | 2;
    readonly samples: readonly Float32Array[] | AsyncIterable<readonly Float32Array[]>;
    readonly bitrateKbps?: number;
  },
  signal?: AbortSignal,
): Promise<void> {
  const { path, format, inputRate, sampleRate, channels, samples, bitrateKbps } = audio;
  const rates = RATES[format];
  const isSupported = rates === undefined ? sampleRate >= 8000 && sampleRate <= 192_000 : rates.includes(sampleRate);
  if (!isSupported || !Number.isInteger(sampleRate)) throw new RangeError(`${format} cannot have ${sampleRate} Hz`);
  const lossy = bitrateKbps === undefined ? {} : { bitsPerSecond: bitrateKbps * 1000 };
  const encoder = await Encoder.start(
    { encode: 'audio', path, format, sampleRate, inputRate, channels, ...lossy },
    signal,
  );
  try {
    for await (const piece of isWhole(samples) ? [samples] : samples) {
      await sendSamples(encoder, piece, channels);
    }
    await encoder.finish();
  } catch (error) {
    await encoder.abort();
    throw error;
  }
}

function isWhole(
  samples: readonly Float32Array[] | AsyncIterable<readonly Float32Array[]>,
): samples is readonly Float32Array[] {
  return Array.isArray(samples);
}

/** A second or so at a time, so that neither side holds the whole audio twice. */
const SAMPLES_PER_MESSAGE = 65_536;

async function sendSamples(encoder: Encoder, planes: readonly Float32Array[], channels: number): Promise<void> {
  const [first] = planes;
  if (planes.length !== channels || planes.some((plane) => plane.length !== first?.length)) {
    throw new RangeError(`samples must have ${channels} channels of the same length`);
  }
  for (let at = 0; at < (first?.length ?? 0); at += SAMPLES_PER_MESSAGE) {
    const parts = planes.map((plane) => plane.subarray(at, at + SAMPLES_PER_MESSAGE));
    await encoder.sendBytes(
      Buffer.concat(parts.map((part) => Buffer.from(part.buffer, part.byteOffset, part.byteLength))),
    );
  }
}

/** One child that encodes one file. */
class Encoder {
  readonly #child: MediaChild;
  readonly #path: string;
  /** The child's last message. Arrives early only if the child failed. */
  readonly #outcome: Promise<Readonly<Record<string, unknown>>>;
  #isFinished = false;

  private constructor(child: MediaChild, path: string) {
    this.#child = child;
    this.#path = path;
    this.#outcome = child.receiveJson(MAX_ENCODING_SECONDS * 1000);
    // Reported by the next call.
    this.#outcome.catch(() => {});
  }

  static async start(request: EncodeRequest, signal?: AbortSignal): Promise<Encoder> {
    const module = childModulePath('encode-child');
    const child = await MediaChild.start({ module, isUntrusted: false, maxMemoryMb: MAX_MEMORY_MB, signal }, request);
    return new Encoder(child, request.path);
  }

  async sendBytes(bytes: Buffer): Promise<void> {
    const isTaken = await Promise.race([this.#child.sendBytes(bytes), this.#outcome]);
    // The reason why the child ended is on its way.
    if (isTaken !== true) await this.#outcome;
  }

  async finish(): Promise<void> {
    await this.#child.sendJson({ isOver: true });
    await this.#outcome;
    this.#isFinished = true;
    await this.#child.end();
  }

  async abort(): Promise<void> {
    if (this.#isFinished) return;
    await this.#child.end();
    await rm(this.#path, { force: true });
  }
}
