/**
 * The length of audio that has no tables: its frames are counted from the first to the last, because what a header says
 * about them may be missing, estimated or wrong. MP3, AAC and FLAC consist of frames, and WAV is samples of one size.
 * Only headers are read, each by the specification of its format.
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
  /** What the frames of one recording have in common. */
  readonly kind: number;
}

/** By version (MPEG 1, and 2 or 2.5) and layer. */
const MPEG_KBITS = {
  first: [
    [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
    [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
    [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  ],
  second: [
    [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
    [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
    [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
  ],
} as const;
const MPEG_RATES = [44_100, 48_000, 32_000] as const;
export const AAC_RATES = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
];

/** ISO/IEC 11172-3, 2.4.2.3, and 13818-3: a frame with a bit rate. A decoder of layer III reads the others, too. */
export function mpegFrame(bytes: Buffer, at: number): Frame | undefined {
  if (bytes[at] !== 0xff) return undefined;
  const [second, third, fourth] = [bytes.readUInt8(at + 1), bytes.readUInt8(at + 2), bytes.readUInt8(at + 3)];
  const [version, layer] = [(second >> 3) & 3, 4 - ((second >> 1) & 3)];
  if ((second & 0xe0) !== 0xe0 || version === 1 || layer === 4) return undefined;
  const isFirst = version === 3;
  const kbits = MPEG_KBITS[isFirst ? 'first' : 'second'][layer - 1]?.[third >> 4];
  const base = MPEG_RATES[(third >> 2) & 3];
  if (!kbits || base === undefined) return undefined;
  const rate = base / (isFirst ? 1 : version === 2 ? 2 : 4);
  // Layer I counts its bytes by fours.
  const [samples, slotBytes] = layer === 1 ? [384, 4] : [layer === 3 && !isFirst ? 576 : 1152, 1];
  const slots = Math.floor((samples * 125 * kbits) / rate / slotBytes) + ((third >> 1) & 1);
  return {
    bytes: slots * slotBytes,
    samples,
    rate,
    channels: fourth >> 6 === 3 ? 1 : 2,
    kind: ((second & 0x1e) << 8) | (third & 0x0c),
  };
}

/** ISO/IEC 13818-7, 6.2: an ADTS frame holds one to four blocks of 1024 samples. */
function adtsFrame(bytes: Buffer, at: number): Frame | undefined {
  if (bytes[at] !== 0xff || (bytes.readUInt8(at + 1) & 0xf6) !== 0xf0) return undefined;
  const [second, third] = [bytes.readUInt8(at + 1), bytes.readUInt8(at + 2)];
  const rate = AAC_RATES[(third >> 2) & 15];
  const length =
    ((bytes.readUInt8(at + 3) & 3) << 11) | (bytes.readUInt8(at + 4) << 3) | (bytes.readUInt8(at + 5) >> 5);
  if (rate === undefined || length < 7) return undefined;
  const configuration = ((third & 1) << 2) | (bytes.readUInt8(at + 3) >> 6);
  const samples = 1024 * ((bytes.readUInt8(at + 6) & 3) + 1);
  const channels = configuration === 7 ? 8 : configuration;
  return { bytes: length, samples, rate, channels, kind: ((second & 0x08) << 8) | (third & 0xfc) };
}

/** Of an MP3. @param start where its first tag ends. */
export async function measureMp3(file: FileWindow, start: number): Promise<AudioLength> {
  const beginning = Buffer.from(await file.at(start, 16 * 1024));
  const paddingSeconds = mp3PaddingSeconds(beginning);
  const { seconds, channels } = await countFrames(file, start, {
    headerBytes: 4,
    frameAt: mpegFrame,
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

/** So many frames in a row are none by chance. */
const SURE_FRAMES = 3;
/** As much of a file as may be zeros before its audio. */
const MOST_ZEROS = 1024 * 1024;
/** As much as may be between a tag and the audio: a tag may have been cut or written twice. */
const MOST_JUNK = 16 * 1024;

/**
 * What audio begins at a position or behind zeros, and if that is the end of a tag, near it.
 *
 * @returns undefined: none that consists of frames.
 */
export async function detectFrames(file: FileWindow, start: number): Promise<'mpeg' | 'aac' | undefined> {
  const first = await endOfZeros(file, start);
  const beginning = Buffer.from(await file.at(first, start > 0 ? MOST_JUNK : 1));
  for (let at = beginning.indexOf(0xff); at >= 0; at = beginning.indexOf(0xff, at + 1)) {
    if (await isChain(file, first + at, layerThreeFrame)) return 'mpeg';
    if (await isChain(file, first + at, adtsFrame)) return 'aac';
  }
  return undefined;
}

async function endOfZeros(file: FileWindow, start: number): Promise<number> {
  let position = start;
  while (position < Math.min(file.sizeBytes, start + MOST_ZEROS)) {
    const bytes = await file.from(position, 1);
    const at = bytes.findIndex((byte) => byte !== 0);
    if (at >= 0 || bytes.length === 0) return position + Math.max(at, 0);
    position += bytes.length;
  }
  return position;
}

function layerThreeFrame(bytes: Buffer, at: number): Frame | undefined {
  return ((bytes[at + 1] ?? 0) & 0x06) === 0x02 ? mpegFrame(bytes, at) : undefined;
}

async function isChain(file: FileWindow, start: number, frameAt: typeof mpegFrame): Promise<boolean> {
  let at = start;
  for (let frames = 0; frames < SURE_FRAMES; frames += 1) {
    const bytes = await file.at(at, NEXT_BYTES);
    const frame = bytes.length < NEXT_BYTES ? undefined : frameAt(bytes, 0);
    if (frame === undefined) return false;
    at += frame.bytes;
  }
  return true;
}

/** As much of a frame as is looked at. */
const NEXT_BYTES = 64;
/** Two headers of one kind as near to one another are hardly chance. */
const NEAR_BYTES = 4 * 1024;

/**
 * Decoders find the next frame whatever is in between. A header may be chance, though, in a picture or in text: outside a
 * chain of frames, one counts if the next frame follows it directly, or the end of the file; if such a pair of its kind
 * was found before; or if another of its kind was near.
 */
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
  // There are some dozens of kinds.
  const chained = new Set<number>();
  const seen = new Map<number, number>();
  let channels: number | undefined;
  let [isInChain, isFirst] = [false, true];
  let least = NEXT_BYTES;
  for (let position = start; position + headerBytes <= file.sizeBytes;) {
    const bytes = await file.from(position, least);
    const isAtEnd = position + bytes.length >= file.sizeBytes;
    least = NEXT_BYTES;
    let at = 0;
    while (at + NEXT_BYTES <= bytes.length || (isAtEnd && at + headerBytes <= bytes.length)) {
      const frame = frameAt(bytes, at);
      if (frame === undefined) {
        isInChain = false;
        const next = bytes.indexOf(0xff, at + 1);
        at = next < 0 ? bytes.length : next;
        continue;
      }
      const beyond = at + frame.bytes;
      if (beyond + headerBytes > bytes.length && !isAtEnd) {
        // Where the next frame begins is not at hand yet.
        least = Math.max(NEXT_BYTES, frame.bytes) + headerBytes;
        break;
      }
      const isWhole = position + beyond <= file.sizeBytes;
      const next = beyond + headerBytes <= bytes.length ? frameAt(bytes, beyond) : undefined;
      if (next?.kind === frame.kind) chained.add(frame.kind);
      const isNear = position + at - (seen.get(frame.kind) ?? -Infinity) <= NEAR_BYTES;
      seen.set(frame.kind, position + beyond);
      const isFollowed = next !== undefined || position + beyond === file.sizeBytes;
      isInChain = isWhole && (isInChain || isFollowed || chained.has(frame.kind) || isNear);
      if (!isInChain) {
        at += 1;
        continue;
      }
      if (!isFirst || isAudio(bytes, at)) {
        samplesByRate.set(frame.rate, (samplesByRate.get(frame.rate) ?? 0) + frame.samples);
        channels ??= frame.channels;
      }
      isFirst = false;
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

/** As long as the header of a frame can be. */
const FLAC_HEADER_BYTES = 16;
const FLAC_RATES = [0, 88_200, 176_400, 192_000, 8_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000];

/**
 * Of a FLAC (RFC 9639): what its frames have together. The total in its header may be missing or wrong, and so may the
 * numbers of the frames; another recording may follow. Their headers have a checksum, so that hardly one is chance.
 */
export async function measureFlac(file: FileWindow, start: number): Promise<AudioLength> {
  const header = Buffer.from(await file.at(start, 42));
  if (header.length < 42 || header.toString('latin1', 0, 4) !== 'fLaC' || ((header[4] ?? 0) & 0x7f) !== 0) return {};
  const packed = header.readUInt32BE(18);
  const [streamRate, channels] = [packed >>> 12, ((packed >>> 9) & 7) + 1];
  if (streamRate === 0) return {};
  let seconds = 0;
  for (let position = start + 42; position < file.sizeBytes;) {
    const bytes = await file.from(position, FLAC_HEADER_BYTES);
    const isAtEnd = position + bytes.length >= file.sizeBytes;
    const end = isAtEnd ? bytes.length : bytes.length - FLAC_HEADER_BYTES + 1;
    // A source that has less than it says.
    if (end <= 0) break;
    for (let at = bytes.indexOf(0xff); at >= 0 && at < end; at = bytes.indexOf(0xff, at + 1)) {
      seconds += flacFrameSeconds(bytes, at, streamRate) ?? 0;
    }
    position += end;
  }
  return lengthOf(seconds, channels);
}

/** RFC 9639, 9.1. @param streamRate what applies unless the frame states another. @returns undefined: it is no header. */
export function flacFrameSeconds(bytes: Buffer, at: number, streamRate: number): number | undefined {
  const [second = 0, third = 0, fourth = 1] = [bytes[at + 1], bytes[at + 2], bytes[at + 3]];
  if ((second & 0xfe) !== 0xf8 || (fourth & 1) !== 0 || fourth >> 4 > 10 || (fourth & 0x0e) === 0x06) return undefined;
  const [sizeCode, rateCode] = [third >> 4, third & 15];
  const numberBytes = codedNumberBytes(bytes, at + 4);
  if (numberBytes === undefined || sizeCode === 0 || rateCode === 15) return undefined;
  let next = at + 4 + numberBytes;
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
      ? streamRate
      : rateCode < 12
        ? FLAC_RATES[rateCode]
        : rateCode === 12
          ? take(1) * 1000
          : take(2) * (rateCode === 13 ? 1 : 10);
  if (!rate || next >= bytes.length || crc8(bytes, at, next) !== bytes[next]) return undefined;
  return samples / rate;
}

/** How many bytes a number has that is written as UTF-8 would write it; undefined: it is none. */
function codedNumberBytes(bytes: Buffer, at: number): number | undefined {
  const first = bytes[at] ?? 0xff;
  if (first < 0x80) return 1;
  const length = Math.clz32(~(first << 24));
  if (length < 2 || length > 7 || at + length > bytes.length) return undefined;
  for (let index = 1; index < length; index += 1) if (((bytes[at + index] ?? 0) & 0xc0) !== 0x80) return undefined;
  return length;
}

const CRC8 = Uint8Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit += 1) crc = ((crc << 1) ^ (crc & 0x80 ? 7 : 0)) & 0xff;
  return crc;
});

function crc8(bytes: Buffer, start: number, end: number): number {
  let crc = 0;
  for (let at = start; at < end; at += 1) crc = CRC8[crc ^ (bytes[at] ?? 0)] ?? 0;
  return crc;
}
