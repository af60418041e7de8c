/**
 * Whether a file matches its task's description, checked with code other than what generated it: images are read by
 * their pixels, videos and audio by their containers, parsed by a different library from the one that wrote them, and
 * the loudness of audio is measured.
 */
import { createHash } from 'node:crypto';
import { ALL_FORMATS, FilePathSource, Input } from 'mediabunny';
import sharp from 'sharp';
import { decodeAudio } from '@darkroom/media/decode';
import type { Output } from './api.ts';

export interface Verified {
  /** The findings, for people. */
  readonly facts: string;
  readonly problems: readonly string[];
}

/** An image whose pixels hardly differ shows nothing. 0 to 255. */
const LEAST_DEVIATION = 4;
/** Below this level the file is inaudible: dBFS, over the whole. */
const LEAST_LOUDNESS_DB = -50;
/** Exact to a frame of the slowest video, and to a frame of the longest codec block. */
const FRAME_SECONDS = 1 / 12;
const CODEC_FRAME_SECONDS = 0.06;
const FOR_LOUDNESS = { sampleRate: 48_000, maxSeconds: 600 };

/** @param input of the request. */
export async function verify(exhibit: {
  readonly file: string;
  readonly bytes: Buffer;
  readonly output: Output;
  readonly input: Readonly<Record<string, unknown>>;
}): Promise<Verified> {
  const { bytes, output } = exhibit;
  const problems: string[] = [];
  if (bytes.length !== output.sizeBytes) problems.push(`has ${bytes.length} bytes and not ${output.sizeBytes}`);
  if (createHash('sha256').update(bytes).digest('hex') !== output.sha256) problems.push('has another SHA-256');
  const isImage = output.mimeType.startsWith('image/');
  const found = isImage ? await verifyImage(exhibit) : await verifyTracks(exhibit);
  return { facts: found.facts, problems: [...problems, ...found.problems] };
}

async function verifyImage({ bytes, output }: { bytes: Buffer; output: Output }): Promise<Verified> {
  const problems: string[] = [];
  const image = sharp(bytes);
  const { width, height, format } = await image.metadata();
  if (width !== output.width || height !== output.height) problems.push(`is ${width}x${height}`);
  const { channels } = await image.stats();
  const deviation = Math.max(...channels.map(({ stdev }) => stdev));
  if (deviation < LEAST_DEVIATION) problems.push(`shows nothing: its pixels deviate by ${deviation.toFixed(1)}`);
  return { facts: `${format} ${width}x${height}`, problems };
}

async function verifyTracks({
  file,
  output,
  input,
}: {
  file: string;
  output: Output;
  input: Readonly<Record<string, unknown>>;
}): Promise<Verified> {
  const problems: string[] = [];
  const container = new Input({ source: new FilePathSource(file), formats: ALL_FORMATS });
  const [video, audio] = [await container.getPrimaryVideoTrack(), await container.getPrimaryAudioTrack()];
  const facts: string[] = [await container.getMimeType()];
  const track = video ?? audio;
  if (track === null) return { facts: 'nothing', problems: ['has no track'] };
  const seconds = await track.computeDuration();
  facts.push(`${seconds.toFixed(3)} s`);
  const requested = Number(input['duration']);
  const tolerance = video === null ? CODEC_FRAME_SECONDS : FRAME_SECONDS / 2;
  if (Number.isFinite(requested) && Math.abs(seconds - requested) > tolerance) problems.push(`lasts ${seconds} s`);
  if (output.durationSeconds === undefined || Math.abs(output.durationSeconds - seconds) > tolerance) {
    problems.push(`is reported to last ${output.durationSeconds} s`);
  }
  if (video !== null) {
    facts.push(`${video.codec} ${video.displayWidth}x${video.displayHeight}`);
    if (video.codec !== 'avc') problems.push(`is ${video.codec}`);
    if (video.displayWidth !== output.width || video.displayHeight !== output.height) {
      problems.push(`is ${video.displayWidth}x${video.displayHeight}`);
    }
  }
  if (input['generate_audio'] === true && audio === null) problems.push('has no audio');
  if (audio !== null) {
    const decibels = await loudness(file);
    facts.push(`${audio.codec} ${audio.sampleRate} Hz, ${decibels.toFixed(1)} dBFS`);
    if (decibels < LEAST_LOUDNESS_DB) problems.push('is silent');
  }
  return { facts: facts.join(', '), problems };
}

/** Root mean square of all samples, in dBFS. */
async function loudness(file: string): Promise<number> {
  const { channels } = await decodeAudio(file, FOR_LOUDNESS);
  let sum = 0;
  let count = 0;
  for (const samples of channels) {
    for (const sample of samples) sum += sample * sample;
    count += samples.length;
  }
  return 10 * Math.log10(sum / Math.max(count, 1) + 1e-12);
}
