/** The length of a FLAC file, and of single frames. */
import { lengthOf } from './audio-frames.ts';
import type { AudioLength } from './audio-frames.ts';
import type { FileWindow } from './file-window.ts';

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
