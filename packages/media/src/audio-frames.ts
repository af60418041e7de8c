/**
 * The length of audio that has no tables: its frames are counted from the first to the last, because what a header says
 * about them may be missing, estimated or wrong. MP3 and AAC are chains of frames, FLAC numbers its frames, and WAV is
 * samples of one size. Only headers are read, each by the specification of its format.
 */
import type { FileWindow } from './file-window.ts';
import { mp3PaddingSeconds } from './mp3-padding.ts';

/** What was counted. */
export interface AudioLength {
  /** Absent: nothing of it can be counted. */
  readonly durationSeconds?: number;
  readonly channels?: number;
}

interface Frame {
  readonly bytes: number;
  readonly samples: number;
  readonly rate: number;
  readonly channels: number;
}

const MP3_KBITS = {
  first: [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  second: [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
} as const;
const MP3_RATES = [44_100, 48_000, 32_000] as const;
const AAC_RATES = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
];

/** ISO/IEC 11172-3, 2.4.2.3, and 13818-3: layer III with a bit rate. */
function mp3Frame(bytes: Buffer, at: number): Frame | undefined {
  if (bytes[at] !== 0xff) return undefined;
  const [second, third, fourth] = [bytes.readUInt8(at + 1), bytes.readUInt8(at + 2), bytes.readUInt8(at + 3)];
  const version = (second >> 3) & 3;
  if ((second & 0xe6) !== 0xe2 || version === 1) return undefined;
  const isFirst = version === 3;
  const kbits = (isFirst ? MP3_KBITS.first : MP3_KBITS.second)[third >> 4];
  const base = MP3_RATES[(third >> 2) & 3];
  if (!kbits || base === undefined) return undefined;
  const rate = base / (isFirst ? 1 : version === 2 ? 2 : 4);
  return {
    bytes: Math.floor(((isFirst ? 144_000 : 72_000) * kbits) / rate) + ((third >> 1) & 1),
    samples: isFirst ? 1152 : 576,
    rate,
    channels: fourth >> 6 === 3 ? 1 : 2,
  };
}

/** ISO/IEC 13818-7, 6.2: an ADTS frame holds one to four blocks of 1024 samples. */
function adtsFrame(bytes: Buffer, at: number): Frame | undefined {
  if (bytes[at] !== 0xff || (bytes.readUInt8(at + 1) & 0xf6) !== 0xf0) return undefined;
  const rate = AAC_RATES[(bytes.readUInt8(at + 2) >> 2) & 15];
  const length =
    ((bytes.readUInt8(at + 3) & 3) << 11) | (bytes.readUInt8(at + 4) << 3) | (bytes.readUInt8(at + 5) >> 5);
  if (rate === undefined || length < 7) return undefined;
  const configuration = ((bytes.readUInt8(at + 2) & 1) << 2) | (bytes.readUInt8(at + 3) >> 6);
  const samples = 1024 * ((bytes.readUInt8(at + 6) & 3) + 1);
  return { bytes: length, samples, rate, channels: configuration === 7 ? 8 : configuration };
}

/** Of an MP3. @param start where its first tag ends. */
export async function measureMp3(file: FileWindow, start: number): Promise<AudioLength> {
  const beginning = Buffer.from(await file.at(start, 16 * 1024));
  const paddingSeconds = mp3PaddingSeconds(beginning);
  const { seconds, channels } = await countFrames(file, start, {
    headerBytes: 4,
    frameAt: mp3Frame,
    isAudio: isMp3Audio,
  });
  return lengthOf(seconds - paddingSeconds, channels);
}

/** The first frame may contain, instead of audio, a tag that says how many there are. */
function isMp3Audio(bytes: Buffer, at: number): boolean {
  const tag = bytes.toString('latin1', at, at + 40);
  return !/Xing|Info|VBRI/.test(tag);
}

/** Of AAC in ADTS. @param start where its first tag ends. */
export async function measureAdts(file: FileWindow, start: number): Promise<AudioLength> {
  const { seconds, channels } = await countFrames(file, start, { headerBytes: 7, frameAt: adtsFrame });
  return lengthOf(seconds, channels);
}

/** As much of a frame as is looked at. */
const NEXT_BYTES = 64;

async function countFrames(
  file: FileWindow,
  start: number,
  {
    headerBytes,
    frameAt,
    isAudio = () => true,
  }: {
    readonly headerBytes: number;
    readonly frameAt: (bytes: Buffer, at: number) => Frame | undefined;
    readonly isAudio?: (bytes: Buffer, at: number) => boolean;
  },
): Promise<{ readonly seconds: number; readonly channels: number | undefined }> {
  const samplesByRate = new Map<number, number>();
  let channels: number | undefined;
  let isInChain = false;
  let least = NEXT_BYTES;
  for (let position = start; position + headerBytes <= file.sizeBytes;) {
    const bytes = await file.from(position, least);
    least = NEXT_BYTES;
    let at = 0;
    while (
      at + NEXT_BYTES <= bytes.length ||
      (position + bytes.length >= file.sizeBytes && at + headerBytes <= bytes.length)
    ) {
      const frame = frameAt(bytes, at);
      const beyond = at + (frame?.bytes ?? 0);
      // Outside a chain of frames, one alone may be anything: the next has to follow it, or the end of the file.
      const isFollowed =
        isInChain ||
        position + beyond === file.sizeBytes ||
        (beyond + headerBytes <= bytes.length && frameAt(bytes, beyond) !== undefined);
      if (frame === undefined || !isFollowed || position + beyond > file.sizeBytes) {
        const isAtEnd = position + bytes.length >= file.sizeBytes;
        if (frame !== undefined && !isAtEnd && beyond + headerBytes > bytes.length) {
          // Where the next frame begins is not at hand yet.
          least = Math.max(NEXT_BYTES, frame.bytes) + headerBytes;
          break;
        }
        isInChain = false;
        at += 1;
        continue;
      }
      if (channels !== undefined || isAudio(bytes, at)) {
        samplesByRate.set(frame.rate, (samplesByRate.get(frame.rate) ?? 0) + frame.samples);
        channels ??= frame.channels;
      }
      isInChain = true;
      at = beyond;
    }
    // A source that has less than it says.
    if (at === 0 && least === NEXT_BYTES) break;
    position += at;
  }
  const seconds = Array.from(samplesByRate, ([rate, samples]) => samples / rate).reduce((sum, each) => sum + each, 0);
  return { seconds, channels };
}

/** To the millisecond; nothing if it is no length. */
export function lengthOf(seconds: number, channels?: number): AudioLength {
  const durationSeconds = Math.round(seconds * 1000) / 1000;
  return {
    ...(Number.isFinite(durationSeconds) && durationSeconds > 0 ? { durationSeconds } : {}),
    ...(channels ? { channels } : {}),
  };
}

/** A file of more has nothing but empty ones. */
const MAX_CHUNKS = 10_000;
/** The name `data`, as a number: a file may have millions of chunks. */
const DATA = 0x64_61_74_61;
const PCM = 1;
const FLOAT = 3;
const EXTENSIBLE = 0xff_fe;
/** ADPCM of Microsoft and IMA: blocks with a fixed number of samples, which the format states. */
const ADPCM = [0x2, 0x11];
/** A-law and µ-law: a byte for a sample. */
const LAWS = [6, 7];

interface WaveFormat {
  readonly channels: number;
  readonly rate: number;
  readonly blockBytes: number;
  /** In a block, for each channel. */
  readonly blockSamples: number;
}

/**
 * Of a WAV: the samples of its data chunks, as decoders read them; what follows the end that the file states is none of
 * them. A recorder that is cut off, or that writes into a pipe, leaves a size of its samples that is 0, too large or of
 * an earlier moment: unless it leads to further chunks up to that end, or to the end of the file, everything counts.
 */
export async function measureWave(file: FileWindow): Promise<AudioLength> {
  const beginning = await file.at(0, 8);
  if (beginning.length < 8) return {};
  const ends = [8 + beginning.readUInt32LE(4), file.sizeBytes].filter((end) => end <= file.sizeBytes);
  let format: WaveFormat | undefined;
  for (let [at, chunks] = [12, 0]; chunks < MAX_CHUNKS; chunks += 1) {
    const head = await file.at(at, 8);
    if (head.length < 8) return {};
    const [name, size] = [head.toString('latin1', 0, 4), head.readUInt32LE(4)];
    if (name === 'fmt ') format = waveFormat(await file.at(at + 8, Math.min(size, 64)));
    if (name === 'data') {
      if (format === undefined) return {};
      const bytes = (await isChunk(file, at, { size, ends })) ? await dataBytes(file, at) : file.sizeBytes - at - 8;
      const blocks = Math.floor(bytes / format.blockBytes);
      return lengthOf((blocks * format.blockSamples) / format.rate, format.channels);
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

function waveFormat(body: Buffer): WaveFormat | undefined {
  if (body.length < 14) return undefined;
  const stated = body.readUInt16LE(0);
  const tag = stated === EXTENSIBLE && body.length >= 26 ? body.readUInt16LE(24) : stated;
  const [channels, rate, blockAlign] = [body.readUInt16LE(2), body.readUInt32LE(4), body.readUInt16LE(12)];
  if (channels === 0 || rate === 0) return undefined;
  if (ADPCM.includes(tag)) {
    const blockSamples = body.length >= 20 ? body.readUInt16LE(18) : 0;
    return blockAlign > 0 && blockSamples > 0 ? { channels, rate, blockBytes: blockAlign, blockSamples } : undefined;
  }
  const bits = LAWS.includes(tag) ? 8 : body.length >= 16 ? body.readUInt16LE(14) : 8;
  if (![PCM, FLOAT, ...LAWS].includes(tag) || bits === 0) return undefined;
  return { channels, rate, blockBytes: channels * Math.ceil(bits / 8), blockSamples: 1 };
}

/** Whether a chunk has the size that it states: what follows is one of the ends, or chunks up to it. */
async function isChunk(
  file: FileWindow,
  at: number,
  { size, ends }: { readonly size: number; readonly ends: readonly number[] },
): Promise<boolean> {
  if (size === 0) return false;
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

/** As much of the end of a FLAC as has frames. */
const FLAC_END_BYTES = 1024 * 1024;
const FLAC_RATES = [0, 88_200, 176_400, 192_000, 8_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000];

/** Of a FLAC (RFC 9639), by the number of its last frame: the total in its header may be missing or wrong. */
export async function measureFlac(file: FileWindow, start: number): Promise<AudioLength> {
  const header = Buffer.from(await file.at(start, 42));
  if (header.length < 42 || header.toString('latin1', 0, 4) !== 'fLaC' || ((header[4] ?? 0) & 0x7f) !== 0) return {};
  const packed = header.readUInt32BE(18);
  const [rate, channels, blockSize] = [packed >>> 12, ((packed >>> 9) & 7) + 1, header.readUInt16BE(8)];
  if (rate === 0) return {};
  const from = Math.max(start + 42, file.sizeBytes - FLAC_END_BYTES);
  const end = await file.at(from, file.sizeBytes - from);
  let last: FlacFrame | undefined;
  let isSure = false;
  for (let at = 0; at + 6 <= end.length; at += 1) {
    const frame = flacFrame(end, at, { rate, blockSize });
    if (frame === undefined) continue;
    const follows = last !== undefined && frame.firstSample === last.firstSample + last.samples;
    // A pair that follows one another is none by chance; one alone counts as long as there is nothing better.
    if (!isSure || follows) last = frame;
    isSure ||= follows;
  }
  return last === undefined ? {} : lengthOf((last.firstSample + last.samples) / rate, channels);
}

interface FlacFrame {
  readonly firstSample: number;
  readonly samples: number;
}

/** RFC 9639, 9.1. @param stream what all frames have. */
function flacFrame(
  bytes: Buffer,
  at: number,
  stream: { readonly rate: number; readonly blockSize: number },
): FlacFrame | undefined {
  const second = bytes[at + 1] ?? 0;
  if (bytes[at] !== 0xff || (second & 0xfe) !== 0xf8 || ((bytes[at + 3] ?? 1) & 1) !== 0) return undefined;
  const third = bytes[at + 2] ?? 0;
  const [sizeCode, rateCode] = [third >> 4, third & 15];
  const number = codedNumber(bytes, at + 4);
  if (number === undefined || sizeCode === 0 || rateCode === 15) return undefined;
  let next = at + 4 + number.bytes;
  const take = (count: number): number => {
    next += count;
    return next <= bytes.length ? bytes.readUIntBE(next - count, count) : 0;
  };
  const samples =
    sizeCode === 1
      ? 192
      : sizeCode <= 5
        ? 576 << (sizeCode - 2)
        : sizeCode === 6
          ? take(1) + 1
          : sizeCode === 7
            ? take(2) + 1
            : 256 << (sizeCode - 8);
  const rate =
    rateCode === 0
      ? stream.rate
      : rateCode < 12
        ? FLAC_RATES[rateCode]
        : rateCode === 12
          ? take(1) * 1000
          : take(2) * (rateCode === 13 ? 1 : 10);
  if (rate !== stream.rate || next >= bytes.length || crc8(bytes.subarray(at, next)) !== bytes[next]) return undefined;
  const isVariable = (second & 1) === 1;
  return { firstSample: number.value * (isVariable ? 1 : stream.blockSize), samples };
}

/** A number as UTF-8 would write it, of up to seven bytes. */
function codedNumber(bytes: Buffer, at: number): { readonly value: number; readonly bytes: number } | undefined {
  const first = bytes[at] ?? 0xff;
  if (first < 0x80) return { value: first, bytes: 1 };
  const length = Math.clz32(~(first << 24));
  if (length < 2 || length > 7 || at + length > bytes.length) return undefined;
  let value = length === 7 ? 0 : first & (0x7f >> length);
  for (let index = 1; index < length; index += 1) {
    const byte = bytes[at + index] ?? 0;
    if ((byte & 0xc0) !== 0x80) return undefined;
    value = value * 64 + (byte & 0x3f);
  }
  return { value, bytes: length };
}

function crc8(bytes: Buffer): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = ((crc << 1) ^ (crc & 0x80 ? 7 : 0)) & 0xff;
  }
  return crc;
}
