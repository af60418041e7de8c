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
import { requireSuccess } from './av-input.ts';
import { AvOutput } from './av-output.ts';
import type { OutputTrack } from './av-output.ts';
import type { ParentChannel } from './child-channel.ts';
import { decodeStereo } from './audio-decoding.ts';
import { SampleQueue, addAudioTrack, parsePlanes, createAudioFrame } from './audio-track.ts';

/**
 * How much quality a video may lose: x264's constant rate factor. At 18 no loss is visible, 23 is x264's own default.
 */
const RATE_FACTORS = { draft: 30, standard: 21, high: 18 } as const;

export type VideoQuality = keyof typeof RATE_FACTORS;

/** The request for a video (encode.ts). */
export interface VideoRequest {
  readonly path: string;
  readonly width: number;
  readonly height: number;
  readonly fps: number;
  readonly quality: VideoQuality;
  readonly audioPath?: string;
}

/**
 * A constant, not the number of cores: x264's choices, and so the file, depend on it. Two, because as many videos are
 * made at a time as there are cores.
 */
const THREADS = 2;
const AUDIO_RATE = 48_000;
const AUDIO_BITS_PER_SECOND = 128_000;

/** Encodes the frames that arrive until the parent says that the video is complete. */
export async function encodeVideo(request: VideoRequest, channel: ParentChannel): Promise<void> {
  const { width, height, fps } = request;
  const output = new AvOutput('mp4', request.path);
  const video = await addVideoTrack(output, request);
  const audio = request.audioPath === undefined ? undefined : await AudioTrackEncoder.open(output, request.audioPath);
  await output.begin({ movflags: '+faststart' });

  const converter = new YuvConverter(width, height);
  const encodeFrame = async (rgba: Buffer, index: number): Promise<void> => {
    const frame = await converter.convert(rgba);
    frame.pts = BigInt(index);
    await video.encode(frame);
    frame.free();
    await audio?.encodeUntil(Math.round(((index + 1) * AUDIO_RATE) / fps));
  };
  // Two buffers: one frame is read while the one before it is encoded.
  const buffers = [Buffer.alloc(width * height * 4), Buffer.alloc(width * height * 4)] as const;
  let encoding = Promise.resolve();
  let frames = 0;
  for (;;) {
    const message = await channel.receive(() => buffers[frames % 2 === 0 ? 0 : 1]);
    await encoding;
    if (message.kind === 'json') break;
    encoding = encodeFrame(message.bytes, frames);
    // Reported where it is awaited, a frame later.
    encoding.catch(() => {});
    frames += 1;
  }
  channel.endWithParent();
  await video.encode(null);
  await audio?.finish();
  await output.finish();
  await channel.sendJson({ frames });
}

async function addVideoTrack(output: AvOutput, request: VideoRequest): Promise<OutputTrack> {
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
function describeColours(target: Pick<Frame, 'colorSpace' | 'colorPrimaries' | 'colorTrc' | 'colorRange'>): void {
  target.colorSpace = AVCOL_SPC_BT709;
  target.colorPrimaries = AVCOL_PRI_BT709;
  target.colorTrc = AVCOL_TRC_BT709;
  target.colorRange = AVCOL_RANGE_MPEG;
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
    requireSuccess(this.#source.getBuffer(), 'allocating a frame');
  }

  /** A new frame, which the caller must free. */
  async convert(rgba: Buffer): Promise<Frame> {
    requireSuccess(this.#source.fromBuffer(rgba), 'reading a frame');
    const frame = new Frame();
    frame.alloc();
    frame.width = this.#width;
    frame.height = this.#height;
    frame.format = AV_PIX_FMT_YUV420P;
    describeColours(frame);
    requireSuccess(frame.getBuffer(), 'allocating a frame');
    requireSuccess(await this.#scaler.scaleFrame(frame, this.#source), 'converting a frame');
    return frame;
  }
}

/**
 * The video's audio, encoded alongside its frames so that the file is interleaved: as long as the frames, to the
 * sample.
 */
class AudioTrackEncoder {
  readonly #track: OutputTrack;
  readonly #pieces: AsyncGenerator<Buffer, void>;
  readonly #queue = new SampleQueue(2);
  #encoded = 0;
  #requested = 0;

  private constructor(track: OutputTrack, pieces: AsyncGenerator<Buffer, void>) {
    this.#track = track;
    this.#pieces = pieces;
  }

  static async open(output: AvOutput, path: string): Promise<AudioTrackEncoder> {
    const track = await addAudioTrack(output, FF_ENCODER_AAC, {
      sampleRate: AUDIO_RATE,
      channels: 2,
      bitsPerSecond: AUDIO_BITS_PER_SECOND,
    });
    return new AudioTrackEncoder(track, decodeStereo(path, AUDIO_RATE));
  }

  /** Encodes as many whole codec frames as the video's first `samples` have. */
  async encodeUntil(samples: number): Promise<void> {
    this.#requested = samples;
    const size = this.#track.encoder.frameSize;
    while (this.#encoded + size <= samples) await this.#encode(size);
  }

  /** Encodes the rest of what was requested last. */
  async finish(): Promise<void> {
    await this.encodeUntil(this.#requested);
    if (this.#encoded < this.#requested) await this.#encode(this.#requested - this.#encoded);
    await this.#track.encode(null);
    await this.#pieces.return();
  }

  async #encode(samples: number): Promise<void> {
    while (this.#queue.length < samples) {
      const piece = await this.#pieces.next();
      // Audio that is shorter than its video ends in silence.
      if (piece.done === true) break;
      this.#queue.add(parsePlanes(piece.value, 2));
    }
    const frame = createAudioFrame(this.#queue.take(samples), this.#encoded, this.#track.encoder);
    await this.#track.encode(frame);
    frame.free();
    this.#encoded += samples;
  }
}
