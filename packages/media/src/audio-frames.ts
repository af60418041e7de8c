/**
 * The length of audio that has no tables: its frames are counted from the first to the last, because what a header says
 * about them may be missing, estimated or wrong. Here are MP3 and AAC; FLAC is in flac-frames.ts, and WAV, whose samples
 * have one size, in wave.ts. Only headers are read, each by the specification of its format.
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
