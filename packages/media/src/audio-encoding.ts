/** Our own samples as an audio file, resampled to its rate. Runs in media children only. */
import {
  AV_SAMPLE_FMT_FLTP,
  FF_ENCODER_AAC,
  FF_ENCODER_FLAC,
  FF_ENCODER_LIBMP3LAME,
  FF_ENCODER_LIBOPUS,
  FF_ENCODER_PCM_S16LE,
} from 'node-av/constants';
import type { FFEncoderCodec } from 'node-av/constants';
import type { Frame } from 'node-av/lib';
import { AvOutput } from './av-output.ts';
import type { OutputTrack } from './av-output.ts';
import type { ParentChannel } from './child-channel.ts';
import { FilterChain } from './filter-chain.ts';
import { SampleQueue, addAudioTrack, channelLayoutOf, parsePlanes, createAudioFrame } from './audio-track.ts';
import type { Planes } from './audio-track.ts';

/** What each format is to FFmpeg. `bitsPerSecond` per channel, for the lossy ones: where few listeners hear a loss. */
const FORMATS = {
  wav: { container: 'wav', encoder: FF_ENCODER_PCM_S16LE },
  flac: { container: 'flac', encoder: FF_ENCODER_FLAC },
  mp3: { container: 'mp3', encoder: FF_ENCODER_LIBMP3LAME, bitsPerSecond: 96_000 },
  opus: { container: 'ogg', encoder: FF_ENCODER_LIBOPUS, bitsPerSecond: 64_000 },
  aac: { container: 'ipod', encoder: FF_ENCODER_AAC, bitsPerSecond: 80_000 },
  adts: { container: 'adts', encoder: FF_ENCODER_AAC, bitsPerSecond: 80_000 },
} as const satisfies Record<string, { container: string; encoder: FFEncoderCodec; bitsPerSecond?: number }>;

export type AudioFormat = keyof typeof FORMATS;

/** The request for an audio file (encode.ts). */
export interface AudioFileRequest {
  readonly path: string;
  readonly format: AudioFormat;
  readonly sampleRate: number;
  readonly inputRate: number;
  readonly channels: number;
  readonly bitsPerSecond?: number;
}

/** How many samples at a time an encoder that accepts any number gets. */
const ANY_FRAME_SIZE = 4096;

/** Encodes the samples that arrive until the parent says that the audio is complete. */
export async function encodeAudio(request: AudioFileRequest, channel: ParentChannel): Promise<void> {
  const { container, encoder, ...format } = FORMATS[request.format];
  const output = new AvOutput(container, request.path);
  const track = await addAudioTrack(output, encoder, {
    sampleRate: request.sampleRate,
    channels: request.channels,
    bitsPerSecond:
      request.bitsPerSecond ?? ('bitsPerSecond' in format ? format.bitsPerSecond * request.channels : undefined),
  });
  await output.begin(request.format === 'aac' ? { movflags: '+faststart' } : {});
  const writer = new AudioWriter(track, request.channels);
  const resampler = await InputResampler.open(request);
  let samplesIn = 0;
  for (;;) {
    const message = await channel.receive();
    if (message.kind === 'json') break;
    const planes = parsePlanes(message.bytes, request.channels);
    samplesIn += planes[0]?.length ?? 0;
    for (const piece of await resampler.process(planes)) await writer.add(piece);
  }
  channel.endWithParent();
  for (const piece of await resampler.process(undefined)) await writer.add(piece);
  const samples = Math.round((samplesIn * request.sampleRate) / request.inputRate);
  await writer.finish(samples);
  await output.finish();
  await channel.sendJson({ samples });
}

/** Sends whole codec frames to an encoder, and in the end exactly as many samples as there should be. */
class AudioWriter {
  readonly #track: OutputTrack;
  readonly #queue: SampleQueue;
  readonly #frameSize: number;
  #encoded = 0;

  constructor(track: OutputTrack, channels: number) {
    this.#track = track;
    this.#queue = new SampleQueue(channels);
    this.#frameSize = track.encoder.frameSize > 0 ? track.encoder.frameSize : ANY_FRAME_SIZE;
  }

  async add(planes: Planes): Promise<void> {
    this.#queue.add(planes);
    // One frame stays: a resampler yields a sample or two too many, and only the end shows how many.
    while (this.#queue.length >= 2 * this.#frameSize) await this.#encode(this.#frameSize);
  }

  /** @param total of the whole audio. */
  async finish(total: number): Promise<void> {
    while (this.#encoded < total) await this.#encode(Math.min(this.#frameSize, total - this.#encoded));
    await this.#track.encode(null);
  }

  async #encode(samples: number): Promise<void> {
    const frame = createAudioFrame(this.#queue.take(samples), this.#encoded, this.#track.encoder);
    await this.#track.encode(frame);
    frame.free();
    this.#encoded += samples;
  }
}

/** From the rate of the samples to the file's; the same samples if the rates are the same. */
class InputResampler {
  readonly #chain: FilterChain | undefined;
  readonly #request: AudioFileRequest;
  #samplesIn = 0;

  private constructor(chain: FilterChain | undefined, request: AudioFileRequest) {
    this.#chain = chain;
    this.#request = request;
  }

  static async open(request: AudioFileRequest): Promise<InputResampler> {
    const { inputRate, sampleRate, channels } = request;
    if (inputRate === sampleRate) return new InputResampler(undefined, request);
    const inputFormat = `sample_rate=${inputRate}:sample_fmt=fltp:channel_layout=${channels === 1 ? 'mono' : 'stereo'}`;
    // A longer filter than FFmpeg's own: steep enough to keep what is below half the rate and nothing above.
    const resample = `aresample=${sampleRate}:filter_size=64:phase_shift=10:cutoff=0.97`;
    const chain = await FilterChain.open('audio', inputFormat, `${resample},aformat=sample_fmts=fltp`);
    return new InputResampler(chain, request);
  }

  /** @param planes undefined: there are no more. */
  async process(planes: Planes | undefined): Promise<readonly Planes[]> {
    if (this.#chain === undefined) return planes === undefined ? [] : [planes];
    const frame = planes === undefined ? null : this.#frame(planes);
    const frames = await this.#chain.process(frame);
    frame?.free();
    return frames.map((out) => {
      const copied = (out.data ?? []).map(
        (bytes) => new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + out.nbSamples * 4)),
      );
      out.free();
      return copied;
    });
  }

  #frame(planes: Planes): Frame {
    const frame = createAudioFrame(planes, this.#samplesIn, {
      sampleFormat: AV_SAMPLE_FMT_FLTP,
      sampleRate: this.#request.inputRate,
      channelLayout: channelLayoutOf(this.#request.channels),
    });
    this.#samplesIn += planes[0]?.length ?? 0;
    return frame;
  }
}
