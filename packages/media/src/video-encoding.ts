/** Our own frames as an MP4 video: H.264 High, and AAC if it has audio. Runs in media children only. */
import {
  AVCHROMA_LOC_LEFT,
  AVCOL_PRI_BT709,
  AVCOL_RANGE_JPEG,
  AVCOL_RANGE_MPEG,
  AVCOL_SPC_BT709,
  AVCOL_SPC_RGB,
  AVCOL_TRC_BT709,
  AV_PIX_FMT_RGBA,
  AV_PIX_FMT_YUV420P,
  FF_ENCODER_AAC,
  FF_ENCODER_LIBX264,
} from 'node-av/constants';
import { Frame, Rational, SoftwareScaleContext } from 'node-av/lib';
import { checked } from './av-input.ts';
import { AvOutput } from './av-output.ts';
import type { OutputTrack } from './av-output.ts';
import type { ParentChannel } from './child-channel.ts';
import { stereoPieces } from './audio-decoding.ts';
import { SampleQueue, addSoundTrack, planesIn, soundFrame } from './audio-track.ts';

/**
 * How much quality a video may lose: x264's constant rate factor. At 18 no loss is visible, 23 is x264's own default.
 */
const RATE_FACTORS = { draft: 30, standard: 21, high: 18 } as const;

export type FilmQuality = keyof typeof RATE_FACTORS;

/** The request for a video (encode.ts). */
export interface FilmRequest {
  readonly path: string;
  readonly width: number;
  readonly height: number;
  readonly fps: number;
  readonly quality: FilmQuality;
  readonly soundPath?: string;
}

/**
 * A constant, not the number of cores: x264's choices, and so the file, depend on it. Two, because as many videos are
 * made at a time as there are cores.
 */
const THREADS = 2;
const SOUND_RATE = 48_000;
const SOUND_BITS_PER_SECOND = 128_000;

/** Encodes the frames that arrive until the parent says that the video is complete. */
export async function encodeFilm(request: FilmRequest, channel: ParentChannel): Promise<void> {
  const { width, height, fps } = request;
  const output = new AvOutput('mp4', request.path);
  const picture = await addPictureTrack(output, request);
  const sound = request.soundPath === undefined ? undefined : await FilmSound.open(output, request.soundPath);
  await output.begin({ movflags: '+faststart' });

  const converter = new YuvConverter(width, height);
  const encodeFrame = async (rgba: Buffer, index: number): Promise<void> => {
    const frame = await converter.convert(rgba);
    frame.pts = BigInt(index);
    await picture.encode(frame);
    frame.free();
    await sound?.encodeUntil(Math.round(((index + 1) * SOUND_RATE) / fps));
  };
  // Two buffers: one frame is read while the one before it is encoded.
  const buffers = [Buffer.alloc(width * height * 4), Buffer.alloc(width * height * 4)] as const;
  let encoding = Promise.resolve();
  let frames = 0;
  for (;;) {
    const message = await channel.next(() => buffers[frames % 2 === 0 ? 0 : 1]);
    await encoding;
    if (message.kind === 'facts') break;
    encoding = encodeFrame(message.bytes, frames);
    // Reported where it is awaited, a frame later.
    encoding.catch(() => {});
    frames += 1;
  }
  channel.expectNothing();
  await picture.encode(null);
  await sound?.finish();
  await output.finish();
  await channel.tell({ frames });
}

async function addPictureTrack(output: AvOutput, request: FilmRequest): Promise<OutputTrack> {
  const { width, height, fps, quality } = request;
  const options = { preset: 'veryfast', profile: 'high', crf: String(RATE_FACTORS[quality]), threads: String(THREADS) };
  return output.addTrack(FF_ENCODER_LIBX264, options, (encoder) => {
    encoder.width = width;
    encoder.height = height;
    encoder.pixelFormat = AV_PIX_FMT_YUV420P;
    encoder.timeBase = new Rational(1, fps);
    encoder.framerate = new Rational(fps, 1);
    // A key frame every two seconds: players need them to seek.
    encoder.gopSize = fps * 2;
    encoder.sampleAspectRatio = new Rational(1, 1);
    describeColours(encoder);
    encoder.chromaLocation = AVCHROMA_LOC_LEFT;
  });
}

/** Declares HD video's colours to players. */
function describeColours(what: Pick<Frame, 'colorSpace' | 'colorPrimaries' | 'colorTrc' | 'colorRange'>): void {
  what.colorSpace = AVCOL_SPC_BT709;
  what.colorPrimaries = AVCOL_PRI_BT709;
  what.colorTrc = AVCOL_TRC_BT709;
  what.colorRange = AVCOL_RANGE_MPEG;
}

/** Converts RGBA to the encoder's YUV. */
class YuvConverter {
  readonly #width: number;
  readonly #height: number;
  readonly #scaler = new SoftwareScaleContext();
  readonly #source = new Frame();

  constructor(width: number, height: number) {
    this.#width = width;
    this.#height = height;
    this.#scaler.allocContext();
    this.#source.alloc();
    this.#source.width = width;
    this.#source.height = height;
    this.#source.format = AV_PIX_FMT_RGBA;
    this.#source.colorSpace = AVCOL_SPC_RGB;
    this.#source.colorRange = AVCOL_RANGE_JPEG;
    checked(this.#source.getBuffer(), 'making room for a frame');
  }

  /** A new frame, which the caller must free. */
  async convert(rgba: Buffer): Promise<Frame> {
    checked(this.#source.fromBuffer(rgba), 'taking a frame');
    const frame = new Frame();
    frame.alloc();
    frame.width = this.#width;
    frame.height = this.#height;
    frame.format = AV_PIX_FMT_YUV420P;
    describeColours(frame);
    checked(frame.getBuffer(), 'making room for a frame');
    checked(await this.#scaler.scaleFrame(frame, this.#source), 'converting a frame');
    return frame;
  }
}

/**
 * The video's audio, encoded alongside its frames so that the file is interleaved: as long as the frames, to the
 * sample.
 */
class FilmSound {
  readonly #track: OutputTrack;
  readonly #pieces: AsyncGenerator<Buffer, void>;
  readonly #queue = new SampleQueue(2);
  #encoded = 0;
  #wanted = 0;

  private constructor(track: OutputTrack, pieces: AsyncGenerator<Buffer, void>) {
    this.#track = track;
    this.#pieces = pieces;
  }

  static async open(output: AvOutput, path: string): Promise<FilmSound> {
    const track = await addSoundTrack(output, FF_ENCODER_AAC, {
      sampleRate: SOUND_RATE,
      channels: 2,
      bitsPerSecond: SOUND_BITS_PER_SECOND,
    });
    return new FilmSound(track, stereoPieces(path, SOUND_RATE));
  }

  /** Encodes as many whole codec frames as the video's first `samples` have. */
  async encodeUntil(samples: number): Promise<void> {
    this.#wanted = samples;
    const size = this.#track.encoder.frameSize;
    while (this.#encoded + size <= samples) await this.#encode(size);
  }

  /** Encodes the rest of what was requested last. */
  async finish(): Promise<void> {
    await this.encodeUntil(this.#wanted);
    if (this.#encoded < this.#wanted) await this.#encode(this.#wanted - this.#encoded);
    await this.#track.encode(null);
    await this.#pieces.return();
  }

  async #encode(samples: number): Promise<void> {
    while (this.#queue.length < samples) {
      const piece = await this.#pieces.next();
      // Audio that is shorter than its video ends in silence.
      if (piece.done === true) break;
      this.#queue.add(planesIn(piece.value, 2));
    }
    const frame = soundFrame(this.#queue.take(samples), this.#encoded, this.#track.encoder);
    await this.#track.encode(frame);
    frame.free();
    this.#encoded += samples;
  }
}
