/** The length of a WAV file. */
import { lengthOf, measureMp3 } from './audio-frames.ts';
import type { AudioLength } from './audio-frames.ts';
import type { FileWindow } from './file-window.ts';

/** A file of more has nothing but empty ones. */
const MAX_CHUNKS = 10_000;
/** The name `data`, as a number: a file may have millions of chunks. */
const DATA = 0x64_61_74_61;
const PCM = 1;
const FLOAT = 3;
const MP3 = 0x55;
const EXTENSIBLE = 0xff_fe;
/** The size of a chunk whose size `ds64` has (EBU Tech 3306: RF64). */
const WIDE = 0xff_ff_ff_ff;
const MS_ADPCM = 0x2;
const IMA_ADPCM = 0x11;
/** A-law and µ-law: a byte for a sample. */
const LAWS = [6, 7];

interface WaveFormat {
  readonly channels: number;
  readonly rate: number;
  readonly blockBytes: number;
  /** What so much of a block has, for each channel. */
  readonly samplesIn: (bytes: number) => number;
}

/**
 * Of a WAV: the samples of its data chunks, as decoders read them; what follows the end that the file states is none of
 * them. A recorder that is cut off, or that writes into a pipe, leaves a size of its samples that is 0, too large or of
 * an earlier moment: unless it leads to further chunks up to that end, or to the end of the file, everything counts.
 */
export async function measureWave(file: FileWindow): Promise<AudioLength> {
  const beginning = await file.at(0, 8);
  if (beginning.length < 8) return {};
  const ends = [8 + beginning.readUInt32LE(4), file.sizeBytes];
  let format: WaveFormat | 'mp3' | undefined;
  let wideBytes: number | undefined;
  let hasFormat = false;
  for (let [at, chunks] = [12, 0]; chunks < MAX_CHUNKS; chunks += 1) {
    const head = await file.at(at, 8);
    if (head.length < 8) return {};
    const [name, stated] = [head.toString('latin1', 0, 4), head.readUInt32LE(4)];
    const size = name === 'data' && stated === WIDE ? (wideBytes ?? stated) : stated;
    if (name === 'ds64') {
      const sizes = await file.at(at + 8, 16);
      if (sizes.length < 16) return {};
      ends.push(8 + Number(sizes.readBigUInt64LE(0)));
      wideBytes = Number(sizes.readBigUInt64LE(8));
    }
    // Decoders use the first one.
    if (name === 'fmt ' && !hasFormat) {
      format = waveFormat(await file.at(at + 8, Math.min(size, 64)));
      hasFormat = true;
    }
    if (name === 'data') {
      if (format === undefined) return {};
      if (format === 'mp3') return measureMp3(file, at + 8);
      const bytes = (await isChunk(file, at, { size, ends }))
        ? size + (await dataBytes(file, at + 8 + size + (size & 1)))
        : file.sizeBytes - at - 8;
      const { channels, rate, blockBytes, samplesIn } = format;
      const samples = Math.floor(bytes / blockBytes) * samplesIn(blockBytes) + samplesIn(bytes % blockBytes);
      return lengthOf(samples / rate, channels);
    }
    at += 8 + size + (size & 1);
  }
  return {};
}

/** What all data chunks have from a chunk on. Decoders find them wherever they are, also beyond the stated end. */
async function dataBytes(file: FileWindow, from: number): Promise<number> {
  let total = 0;
  for (let position = from; position + 8 <= file.sizeBytes;) {
    const bytes = await file.from(position, 8);
    // A source that has less than it says.
    if (bytes.length < 8) break;
    let at = 0;
    while (at + 8 <= bytes.length) {
      const size = bytes.readUInt32LE(at + 4);
      if (bytes.readUInt32BE(at) === DATA) {
        const rest = file.sizeBytes - position - at - 8;
        total += size === 0 ? rest : Math.min(size, rest);
        if (size === 0) return total;
      }
      at += 8 + size + (size & 1);
    }
    position += at;
  }
  return total;
}

function waveFormat(body: Buffer): WaveFormat | 'mp3' | undefined {
  if (body.length < 14) return undefined;
  const stated = body.readUInt16LE(0);
  const tag = stated === EXTENSIBLE && body.length >= 26 ? body.readUInt16LE(24) : stated;
  const [channels, rate, blockAlign] = [body.readUInt16LE(2), body.readUInt32LE(4), body.readUInt16LE(12)];
  if (channels === 0 || rate === 0) return undefined;
  if (tag === MP3) return 'mp3';
  const bits = LAWS.includes(tag) ? 8 : body.length >= 16 ? body.readUInt16LE(14) : 8;
  if (bits === 0) return undefined;
  if (tag === MS_ADPCM || tag === IMA_ADPCM) {
    if (blockAlign === 0) return undefined;
    // A block begins with samples that are not compressed. How many it has is not believed if it is stated.
    const [headBytes, first, sampleBits] = tag === MS_ADPCM ? [7 * channels, 2, 4] : [4 * channels, 1, bits];
    const samplesIn = (bytes: number): number =>
      bytes < headBytes ? 0 : first + Math.floor(((bytes - headBytes) * 8) / (sampleBits * channels));
    return { channels, rate, blockBytes: blockAlign, samplesIn };
  }
  if (![PCM, FLOAT, ...LAWS].includes(tag)) return undefined;
  const blockBytes = channels * Math.ceil(bits / 8);
  return { channels, rate, blockBytes, samplesIn: (bytes) => Math.floor(bytes / blockBytes) };
}

/** Whether a chunk has the size that it states: what follows is one of the ends, or chunks up to it. */
async function isChunk(
  file: FileWindow,
  at: number,
  { size, ends }: { readonly size: number; readonly ends: readonly number[] },
): Promise<boolean> {
  if (size === 0 || at + 8 + size > file.sizeBytes) return false;
  let next = at + 8 + size;
  for (let chunks = 0; chunks < MAX_CHUNKS; chunks += 1) {
    next += next & 1;
    if (ends.includes(next) || ends.includes(next - 1)) return true;
    const head = await file.at(next, 8);
    if (head.length < 8 || !/^[\x20-\x7e]{4}$/.test(head.toString('latin1', 0, 4))) return false;
    next += 8 + head.readUInt32LE(4);
  }
  return false;
}
