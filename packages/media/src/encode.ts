/**
 * Our own frames and samples as files that every player plays. Each file is made by one child process fed by a pipe,
 * so that encoding runs beside the rendering, and a cancelled rendering, whose thread is terminated, leaves nothing
 * running: the child ends when its pipe closes. The same frames or samples give the same bytes.
 */
import { rm } from 'node:fs/promises';
import type { EncodeRequest } from './encode-child.ts';
import { MAX_FILM_EDGE } from './video-bounds.ts';
import type { FilmQuality } from './video-encoding.ts';
import { MediaChild } from './media-child.ts';
import { childModule } from './program-files.ts';
import type { SoundFormat } from './audio-encoding.ts';

export type { FilmQuality, SoundFormat };

/** At 3840 x 2160 a child takes 750 MB, nearly all of it frames that x264 keeps (measured). */
const MAX_MEMORY_MB = 2048;
/** More than any task may take: the renderer has a deadline, and the child ends with it. */
const MAX_ENCODING_SECONDS = 24 * 60 * 60;

/** The rates that the codecs support; WAV and FLAC accept any. */
const MPEG_RATES = [8000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000] as const;
const RATES: Readonly<Partial<Record<SoundFormat, readonly number[]>>> = {
  mp3: MPEG_RATES,
  aac: MPEG_RATES,
  opus: [8000, 12_000, 16_000, 24_000, 48_000],
};

/** A video that is being written. */
export interface FilmWriter {
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
 * @param film.width and height: even, 2 to 4096 pixels.
 * @param film.fps whole frames per second, 1 to 120.
 * @param film.sound an audio file of ours, of any rate; 48 kHz stereo is taken as it is.
 * @throws {RangeError} a size or rate that a video cannot have.
 */
export async function openVideo(film: {
  readonly path: string;
  readonly width: number;
  readonly height: number;
  readonly fps: number;
  readonly quality: FilmQuality;
  readonly sound?: { readonly path: string };
}): Promise<FilmWriter> {
  const { path, width, height, fps, quality, sound } = film;
  if (
    ![width, height].every((side) => Number.isInteger(side) && side >= 2 && side <= MAX_FILM_EDGE && side % 2 === 0)
  ) {
    throw new RangeError(`a film cannot be ${width} x ${height}: both must be even, 2 to ${MAX_FILM_EDGE}`);
  }
  if (!Number.isInteger(fps) || fps < 1 || fps > 120) throw new RangeError(`a film cannot have ${fps} frames a second`);
  const encoder = await Encoder.start({
    encode: 'film',
    path,
    width,
    height,
    fps,
    quality,
    ...(sound === undefined ? {} : { soundPath: sound.path }),
  });
  return {
    async write(rgba) {
      if (rgba.length !== width * height * 4) throw new RangeError(`a frame has ${width * height * 4} bytes`);
      await encoder.give(rgba);
    },
    finish: () => encoder.finish(),
    abort: () => encoder.abort(),
  };
}

/**
 * Writes an audio file: `mp3`, `wav` (16 bit), `flac` (16 bit), `opus` (in Ogg) or `aac` (in M4A). As many samples as
 * went in, resampled; padding that a codec adds is marked, so that players leave it out.
 *
 * @param sound.samples one or two channels of -1 to 1, all of the same length; values beyond that are clipped. A
 *   stream's pieces follow each other without a seam.
 * @param sound.inputRate the rate of the samples, in Hz.
 * @param sound.sampleRate of the file, in Hz: 8000 to 192000 for `wav` and `flac`; 8000, 11025, 12000, 16000, 22050,
 *   24000, 32000, 44100 or 48000 for `mp3` and `aac`; 8000, 12000, 16000, 24000 or 48000 for `opus`, whose files
 *   always play at 48000 and hold what the lower rate holds.
 * @param sound.bitrateKbps for `mp3`, `opus` and `aac`; a good rate for its channels if omitted.
 * @throws {RangeError} a rate or number of channels that the format cannot have.
 * @throws {DOMException} `AbortError` when the signal fires; the file is removed.
 */
export async function writeSound(
  sound: {
    readonly path: string;
    readonly format: SoundFormat;
    readonly inputRate: number;
    readonly sampleRate: number;
    readonly channels: 1 | 2;
    readonly samples: readonly Float32Array[] | AsyncIterable<readonly Float32Array[]>;
    readonly bitrateKbps?: number;
  },
  signal?: AbortSignal,
): Promise<void> {
  const { path, format, inputRate, sampleRate, channels, samples, bitrateKbps } = sound;
  const rates = RATES[format];
  const isPossible = rates === undefined ? sampleRate >= 8000 && sampleRate <= 192_000 : rates.includes(sampleRate);
  if (!isPossible || !Number.isInteger(sampleRate)) throw new RangeError(`${format} cannot have ${sampleRate} Hz`);
  const lossy = bitrateKbps === undefined ? {} : { bitsPerSecond: bitrateKbps * 1000 };
  const encoder = await Encoder.start(
    { encode: 'sound', path, format, sampleRate, inputRate, channels, ...lossy },
    signal,
  );
  try {
    for await (const piece of isWhole(samples) ? [samples] : samples) {
      await giveSamples(encoder, piece, channels);
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
const SAMPLES_AT_A_TIME = 65_536;

async function giveSamples(encoder: Encoder, planes: readonly Float32Array[], channels: number): Promise<void> {
  const [first] = planes;
  if (planes.length !== channels || planes.some((plane) => plane.length !== first?.length)) {
    throw new RangeError(`samples must be of ${channels} channels, all as long`);
  }
  for (let at = 0; at < (first?.length ?? 0); at += SAMPLES_AT_A_TIME) {
    const parts = planes.map((plane) => plane.subarray(at, at + SAMPLES_AT_A_TIME));
    await encoder.give(Buffer.concat(parts.map((part) => Buffer.from(part.buffer, part.byteOffset, part.byteLength))));
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
    this.#outcome = child.receiveFacts(MAX_ENCODING_SECONDS * 1000);
    // Reported by the next call.
    this.#outcome.catch(() => {});
  }

  static async start(request: EncodeRequest, signal?: AbortSignal): Promise<Encoder> {
    const module = childModule('encode-child');
    const child = await MediaChild.start({ module, isUntrusted: false, maxMemoryMb: MAX_MEMORY_MB, signal }, request);
    return new Encoder(child, request.path);
  }

  async give(bytes: Buffer): Promise<void> {
    const isTaken = await Promise.race([this.#child.give(bytes), this.#outcome]);
    // The reason why the child ended is on its way.
    if (isTaken !== true) await this.#outcome;
  }

  async finish(): Promise<void> {
    await this.#child.tell({ isOver: true });
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
