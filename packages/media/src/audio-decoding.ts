/** Audio as samples: always stereo floats at the requested rate. Runs in media children only. */
import type { Frame } from 'node-av/lib';
import { openTrack } from './av-input.ts';
import type { Track } from './av-input.ts';
import type { ParentChannel } from './child-channel.ts';
import { FilterChain } from './filter-chain.ts';
import { UndecodableMediaError } from './undecodable-media-error.ts';

const BYTES_PER_SAMPLE = 4;

/** The request for audio (decode.ts). */
export interface AudioRequest {
  readonly path: string;
  readonly sampleRate: number;
  readonly maxSeconds: number;
}

/**
 * Sends the samples piece by piece, the left channel's and then the right channel's of each, then a message that it
 * is over.
 */
export async function decodeAudio(request: AudioRequest, channel: ParentChannel): Promise<void> {
  const maxSamples = Math.round(request.maxSeconds * request.sampleRate);
  let sent = 0;
  for await (const piece of decodeStereo(request.path, request.sampleRate)) {
    const samples = Math.min(piece.length / 2 / BYTES_PER_SAMPLE, maxSamples - sent);
    await channel.sendBytes(truncatePiece(piece, samples));
    sent += samples;
    if (sent >= maxSamples) break;
  }
  if (sent === 0) throw new UndecodableMediaError('damaged: none of its audio can be decoded');
  await channel.sendJson({ isOver: true });
}

/** The audio of a file in pieces: 32-bit floats, all of the left channel and then all of the right. */
export async function* decodeStereo(path: string, sampleRate: number): AsyncGenerator<Buffer, void> {
  const track = await openTrack(path, 'audio');
  const resampler = new Resampler(track, sampleRate);
  try {
    for await (const frame of track.frames()) yield* toPieces(await resampler.process(frame));
    yield* toPieces(await resampler.process(null));
  } finally {
    await track.close();
  }
}

/** Takes frames of one file, which may change their rate and channels partway through. */
class Resampler {
  readonly #track: Track;
  readonly #sampleRate: number;
  #chain: FilterChain | undefined;
  #inputFormat = '';

  constructor(track: Track, sampleRate: number) {
    this.#track = track;
    this.#sampleRate = sampleRate;
  }

  async process(frame: Frame | null): Promise<Frame[]> {
    if (frame === null) return (await this.#chain?.process(null)) ?? [];
    const { num, den } = this.#track.stream.timeBase;
    const { nbChannels, mask } = frame.channelLayout;
    const layout = mask === 0n ? `${nbChannels}c` : `0x${mask.toString(16)}`;
    const inputFormat = `sample_rate=${frame.sampleRate}:sample_fmt=${frame.format}:channel_layout=${layout}:time_base=${num}/${den}`;
    const out: Frame[] = [];
    if (inputFormat !== this.#inputFormat) {
      out.push(...(await this.process(null)));
      this.#chain?.close();
      this.#chain = await FilterChain.open('audio', inputFormat, this.#filters(nbChannels));
      this.#inputFormat = inputFormat;
    }
    return [...out, ...((await this.#chain?.process(frame)) ?? [])];
  }

  #filters(channels: number): string {
    // One channel is as loud on both sides as it was on one; FFmpeg's own rule would take 3 dB off.
    const spread = channels === 1 ? ['pan=stereo|c0=c0|c1=c0'] : [];
    const outputFormat = `aformat=sample_fmts=fltp:sample_rates=${this.#sampleRate}:channel_layouts=stereo`;
    return [...spread, `aresample=${this.#sampleRate}`, outputFormat].join(',');
  }
}

function* toPieces(frames: readonly Frame[]): Generator<Buffer, void> {
  for (const frame of frames) {
    const bytes = frame.nbSamples * BYTES_PER_SAMPLE;
    const [left, right] = frame.data ?? [];
    if (left !== undefined && right !== undefined) {
      yield Buffer.concat([left.subarray(0, bytes), right.subarray(0, bytes)]);
    }
    frame.free();
  }
}

function truncatePiece(piece: Buffer, samples: number): Buffer {
  const half = piece.length / 2;
  const bytes = samples * BYTES_PER_SAMPLE;
  return bytes === half ? piece : Buffer.concat([piece.subarray(0, bytes), piece.subarray(half, half + bytes)]);
}
