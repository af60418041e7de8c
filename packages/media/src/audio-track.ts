/**
 * Floats on their way into an audio encoder: queued, cut into codec frames, converted to the encoder's own format.
 * Runs in media children only.
 */
import {
  AV_CHANNEL_LAYOUT_MONO,
  AV_CHANNEL_LAYOUT_STEREO,
  AV_SAMPLE_FMT_FLT,
  AV_SAMPLE_FMT_FLTP,
  AV_SAMPLE_FMT_S16,
  FF_ENCODER_AAC,
} from 'node-av/constants';
import type { AVSampleFormat, FFEncoderCodec } from 'node-av/constants';
import { Frame, Rational } from 'node-av/lib';
import type { ChannelLayout } from 'node-av/lib';
import { requireSuccess } from './av-input.ts';
import type { AvOutput, OutputTrack } from './av-output.ts';

/** The samples of some channels, the same number for each. */
export type Planes = readonly Float32Array[];

/** Our encoders each accept one of these; in order of preference. */
const FORMATS = [AV_SAMPLE_FMT_FLTP, AV_SAMPLE_FMT_FLT, AV_SAMPLE_FMT_S16] as const;

/**
 * FFmpeg's other way of spending the bits turns a pure tone of 0.5 into peaks of 0.7, and is no better on music
 * (measured).
 */
const AAC_OPTIONS = { aac_coder: 'fast' } as const;

const MAX_S16 = 32_767;

/** Adds an audio track. @param options.bitsPerSecond for the lossy encoders. */
export async function addAudioTrack(
  output: AvOutput,
  encoderName: FFEncoderCodec,
  options: { readonly sampleRate: number; readonly channels: number; readonly bitsPerSecond?: number | undefined },
): Promise<OutputTrack> {
  return output.addTrack(encoderName, encoderName === FF_ENCODER_AAC ? AAC_OPTIONS : {}, (encoder, codec) => {
    encoder.sampleFormat = FORMATS.find((format) => codec.sampleFormats?.includes(format)) ?? AV_SAMPLE_FMT_S16;
    encoder.sampleRate = options.sampleRate;
    encoder.channelLayout = channelLayoutOf(options.channels);
    encoder.timeBase = new Rational(1, options.sampleRate);
    if (options.bitsPerSecond !== undefined) encoder.bitRate = BigInt(options.bitsPerSecond);
  });
}

/** FFmpeg's description of one or two channels. */
export function channelLayoutOf(channels: number): ChannelLayout {
  return channels === 1 ? AV_CHANNEL_LAYOUT_MONO : AV_CHANNEL_LAYOUT_STEREO;
}

/** The planes that follow one another in a message. */
export function parsePlanes(piece: Buffer, channels: number): Planes {
  const samples = piece.length / Float32Array.BYTES_PER_ELEMENT / channels;
  return Array.from(
    { length: channels },
    (_, channel) => new Float32Array(piece.buffer, piece.byteOffset + channel * samples * 4, samples),
  );
}

/** Samples that were made and not yet encoded. */
export class SampleQueue {
  readonly #channels: number;
  #planes: Planes[] = [];
  #length = 0;

  constructor(channels: number) {
    this.#channels = channels;
  }

  /** How many samples of each channel are queued. */
  get length(): number {
    return this.#length;
  }

  /** Adds samples, which must not be changed afterwards. */
  add(planes: Planes): void {
    this.#planes.push(planes);
    this.#length += planes[0]?.length ?? 0;
  }

  /** Takes the first samples: `count` of each channel, padded with silence if fewer are queued. */
  take(count: number): Planes {
    const taken = Array.from({ length: this.#channels }, () => new Float32Array(count));
    for (let filled = 0; filled < count;) {
      const first = this.#planes.shift();
      if (first === undefined) break;
      const used = Math.min(first[0]?.length ?? 0, count - filled);
      for (const [channel, plane] of taken.entries()) plane.set(first[channel]?.subarray(0, used) ?? [], filled);
      if (used < (first[0]?.length ?? 0)) this.#planes.unshift(first.map((plane) => plane.subarray(used)));
      filled += used;
      this.#length -= used;
    }
    return taken;
  }
}

/** The layout of samples in a frame, as an encoder or a filter takes it. */
export interface SampleFormat {
  readonly sampleFormat: AVSampleFormat;
  readonly sampleRate: number;
  readonly channelLayout: ChannelLayout;
}

/** A frame of samples, which the caller must free. @param at how many samples went before it. */
export function createAudioFrame(planes: Planes, at: number, format: SampleFormat): Frame {
  const samples = planes[0]?.length ?? 0;
  const frame = new Frame();
  frame.alloc();
  frame.nbSamples = samples;
  frame.format = format.sampleFormat;
  frame.sampleRate = format.sampleRate;
  frame.channelLayout = format.channelLayout;
  frame.pts = BigInt(at);
  requireSuccess(frame.getBuffer(), 'allocating samples');
  for (const [channel, plane] of planes.entries()) {
    if (format.sampleFormat === AV_SAMPLE_FMT_FLTP) floatsIn(frame, channel).set(plane);
    else if (format.sampleFormat === AV_SAMPLE_FMT_FLT) interleave(plane, floatsIn(frame, 0), channel, planes.length);
    else interleave(plane.map(toS16), shortsIn(frame), channel, planes.length);
  }
  return frame;
}

function floatsIn(frame: Frame, plane: number): Float32Array {
  const bytes = frame.data?.[plane] ?? Buffer.alloc(0);
  return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
}

function shortsIn(frame: Frame): Int16Array {
  const bytes = frame.data?.[0] ?? Buffer.alloc(0);
  return new Int16Array(bytes.buffer, bytes.byteOffset, bytes.length / 2);
}

function interleave(from: Float32Array, into: Float32Array | Int16Array, channel: number, channels: number): void {
  for (let index = 0; index < from.length; index += 1) into[index * channels + channel] = from[index] ?? 0;
}

function toS16(sample: number): number {
  return Math.round(Math.min(Math.max(sample, -1), 1) * MAX_S16);
}
