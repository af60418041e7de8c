/**
 * Type and size of an image from its own header, as a viewer shows it: an EXIF or HEIF rotation is applied. Separate from
 * `inspection.ts` because these are file formats, each by its own specification. Nothing is decoded; headers are walked
 * from one segment to the next, however far the size is from the beginning.
 */
import type { FileWindow } from './file-window.ts';

export interface ImageHeader {
  readonly mimeType: string;
  /** Absent: the file ends before it, or makes no sense. */
  readonly size?: ImageSize;
}

interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/** What a format states; orientation as EXIF 2.32 numbers it, 1 to 8. */
interface StoredSize extends ImageSize {
  readonly orientation?: number | undefined;
}

type ReadSize = (file: FileWindow) => Promise<StoredSize | undefined>;

/** As much as names the type. */
const BEGINNING_BYTES = 64;
/** As many segments as 650 MB of metadata have in a JPEG: a file of more, and smaller ones, is made to be hard to read. */
const MAX_SEGMENTS = 10_000;
/** The markers of a JPEG that have no length (ITU-T T.81, B.1.1.3). */
const [TEM, RST0, RST7] = [0x01, 0xd0, 0xd7];
/** No header of an image has as much before its size. */
const MAX_BOX_BYTES = 4 * 1024 * 1024;
/** An EXIF block ends after 64 kB in a JPEG, and its first directory is near its beginning. */
const EXIF_BYTES = 64 * 1024;

/** Reads the header of an image. @returns undefined: it is no image that is known. */
export async function readImageHeader(file: FileWindow): Promise<ImageHeader | undefined> {
  const beginning = await file.at(0, BEGINNING_BYTES);
  const mimeType = imageTypeOf(beginning);
  if (mimeType === undefined) return undefined;
  const stored = await READERS[mimeType]?.(file);
  if (stored === undefined || stored.width <= 0 || stored.height <= 0) return { mimeType };
  const { width, height, orientation = 1 } = stored;
  return {
    mimeType,
    size: orientation >= 5 && orientation <= 8 ? { width: height, height: width } : { width, height },
  };
}

const READERS: Readonly<Record<string, ReadSize>> = {
  'image/png': pngSize,
  'image/jpeg': jpegSize,
  'image/gif': gifSize,
  'image/webp': webpSize,
  'image/avif': heifSize,
  'image/heic': heifSize,
  'image/heif': heifSize,
};

/** Whether bytes are a photograph that only libheif decodes. */
export function isHeic(bytes: Buffer): boolean {
  const type = imageTypeOf(bytes);
  return type === 'image/heic' || type === 'image/heif';
}

/** The type of an image, from its first bytes alone. @returns undefined: it is no image that is known. */
export function imageTypeOf(bytes: Uint8Array): string | undefined {
  const beginning = Buffer.from(bytes.subarray(0, BEGINNING_BYTES));
  const text = beginning.toString('latin1');
  if (text.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (text.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  if (/^GIF8[79]a/.test(text)) return 'image/gif';
  if (/^RIFF[^]{4}WEBP/.test(text)) return 'image/webp';
  return text.startsWith('ftyp', 4) ? heifTypeOf(beginning) : undefined;
}

/** ISO/IEC 23008-12 and AVIF: the brands that the file says it follows. */
function heifTypeOf(beginning: Buffer): string | undefined {
  const end = Math.min(beginning.readUInt32BE(0), beginning.length);
  const brands: string[] = [beginning.toString('latin1', 8, 12)];
  for (let at = 16; at + 4 <= end; at += 4) brands.push(beginning.toString('latin1', at, at + 4));
  // The first one says what it is foremost: a video may name a brand of images, too.
  const [major = ''] = brands;
  if (['avif', 'avis'].includes(major)) return 'image/avif';
  if (['heic', 'heix', 'heim', 'heis', 'hevc', 'hevx'].includes(major)) return 'image/heic';
  if (!['mif1', 'msf1', 'mif2'].includes(major)) return undefined;
  if (brands.includes('avif')) return 'image/avif';
  return brands.some((brand) => brand.startsWith('hei')) ? 'image/heic' : 'image/heif';
}

/** PNG, third edition, 11.2.1: the first chunk is IHDR; 11.3.3.5: eXIf comes before the image data, or after it. */
async function pngSize(file: FileWindow): Promise<StoredSize | undefined> {
  const header = await file.at(0, 24);
  if (header.length < 24 || header.toString('latin1', 12, 16) !== 'IHDR') return undefined;
  const size = { width: header.readUInt32BE(16), height: header.readUInt32BE(20) };
  for (let [at, chunks] = [33, 0]; chunks < MAX_SEGMENTS; chunks += 1) {
    const chunk = await file.at(at, 8);
    if (chunk.length < 8) return size;
    const [length, type] = [chunk.readUInt32BE(0), chunk.toString('latin1', 4, 8)];
    if (type === 'eXIf') {
      return { ...size, orientation: exifOrientation(await file.at(at + 8, Math.min(length, EXIF_BYTES))) };
    }
    if (type === 'IDAT') return size;
    at += 12 + length;
  }
  return size;
}

/** GIF89a, 18: the logical screen descriptor. */
async function gifSize(file: FileWindow): Promise<StoredSize | undefined> {
  const bytes = await file.at(0, 10);
  return bytes.length < 10 ? undefined : { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) };
}

/**
 * ITU-T T.81, B.2.2: the frame header (SOF0 to SOF15 but for DHT, JPG and DAC), after any number of other segments.
 * EXIF lies in the first APP1 that begins with its name.
 */
async function jpegSize(file: FileWindow): Promise<StoredSize | undefined> {
  let orientation: number | undefined;
  for (let [at, segments] = [2, 0]; segments < MAX_SEGMENTS; segments += 1) {
    at = await nextMarker(file, at);
    const bytes = await file.at(at, 10);
    if (bytes.length < 9) return undefined;
    const marker = bytes.readUInt8(1);
    if (marker === TEM || (marker >= RST0 && marker <= RST7)) {
      at += 2;
      continue;
    }
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
    if (isFrame) return { height: bytes.readUInt16BE(5), width: bytes.readUInt16BE(7), orientation };
    const length = bytes.readUInt16BE(2);
    if (marker === 0xe1 && orientation === undefined && bytes.toString('latin1', 4, 10) === 'Exif\0\0') {
      orientation = exifOrientation(await file.at(at + 10, Math.max(0, length - 8)));
    }
    at += 2 + length;
  }
  return undefined;
}

/** Where the next marker is, behind fill bytes (B.1.1.2) and what belongs to no segment, which decoders skip. */
async function nextMarker(file: FileWindow, start: number): Promise<number> {
  for (let position = start; position + 1 < file.sizeBytes;) {
    const bytes = await file.from(position, 2);
    // A source that has less than it says.
    if (bytes.length < 2) break;
    let at = bytes.indexOf(0xff);
    while (at >= 0 && at + 1 < bytes.length) {
      const next = bytes[at + 1];
      if (next !== 0xff && next !== 0) return position + at;
      at = bytes.indexOf(0xff, at + 1);
    }
    position += at < 0 ? bytes.length : at;
  }
  return file.sizeBytes;
}

/** RFC 9649: the first chunk is VP8 (lossy), VP8L (lossless) or VP8X (extended), which may have EXIF after the image. */
async function webpSize(file: FileWindow): Promise<StoredSize | undefined> {
  const bytes = await file.at(0, 30);
  if (bytes.length < 30) return undefined;
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8 ':
      // RFC 6386, 9.1: after frame tag and start code, 14 bits each; the upper two are a scaling hint.
      return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
    case 'VP8L': {
      const bits = bytes.readUInt32LE(21);
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    case 'VP8X': {
      const size = { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
      const hasExif = (bytes.readUInt8(20) & 8) !== 0;
      return hasExif ? { ...size, orientation: await webpOrientation(file) } : size;
    }
    default:
      return undefined;
  }
}

async function webpOrientation(file: FileWindow): Promise<number | undefined> {
  for (let [at, chunks] = [12, 0]; chunks < MAX_SEGMENTS; chunks += 1) {
    const chunk = await file.at(at, 8);
    if (chunk.length < 8) return undefined;
    const length = chunk.readUInt32LE(4);
    if (chunk.toString('latin1', 0, 4) === 'EXIF') {
      const exif = await file.at(at + 8, Math.min(length, EXIF_BYTES));
      // Some writers put the name before it that a JPEG has.
      return exifOrientation(exif.toString('latin1', 0, 6) === 'Exif\0\0' ? exif.subarray(6) : exif);
    }
    at += 8 + length + (length & 1);
  }
  return undefined;
}

/** EXIF 2.32, 4.6.4: tag 0x0112 of the first directory. @returns undefined: it states none. */
function exifOrientation(tiff: Buffer): number | undefined {
  const isLittle = tiff.toString('latin1', 0, 2) === 'II';
  const uint16 = (at: number): number => (isLittle ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at));
  if (tiff.length < 14) return undefined;
  const directory = isLittle ? tiff.readUInt32LE(4) : tiff.readUInt32BE(4);
  if (directory + 2 > tiff.length) return undefined;
  const count = uint16(directory);
  for (let index = 0; index < count; index += 1) {
    const entry = directory + 2 + index * 12;
    if (entry + 12 > tiff.length) return undefined;
    if (uint16(entry) === 0x01_12) return uint16(entry + 8);
  }
  return undefined;
}

interface Box {
  readonly type: string;
  readonly body: Buffer;
}

/**
 * HEIF (ISO/IEC 23008-12): `meta` says which item is the image (`pitm`), and `ipma` which of the properties in `ipco` are
 * its own: its size (`ispe`) and its rotation (`irot`, quarter turns). Tiles, alpha and previews are other items.
 */
async function heifSize(file: FileWindow): Promise<StoredSize | undefined> {
  const meta = await findMeta(file);
  if (meta === undefined) return undefined;
  const parts = [...boxes(meta)];
  const properties = [...boxes(bodyOf([...boxes(bodyOf(parts, 'iprp'))], 'ipco'))];
  const own = propertiesOf(primaryItem(bodyOf(parts, 'pitm')), bodyOf([...boxes(bodyOf(parts, 'iprp'))], 'ipma'));
  const named = own.flatMap((index) => properties[index - 1] ?? []);
  const size = largest(named) ?? largest(properties);
  const turns = (named.find(({ type }) => type === 'irot')?.body[0] ?? 0) & 1;
  return size === undefined ? undefined : { ...size, orientation: turns === 1 ? 6 : 1 };
}

/** `meta` is a full box: four bytes of version and flags before its children. */
async function findMeta(file: FileWindow): Promise<Buffer | undefined> {
  for (let [at, found] = [0, 0]; found < MAX_SEGMENTS; found += 1) {
    const head = await file.at(at, 8);
    if (head.length < 8) return undefined;
    const size = head.readUInt32BE(0);
    if (head.toString('latin1', 4, 8) === 'meta') {
      return size < 12 || size > MAX_BOX_BYTES ? undefined : await file.at(at + 12, size - 12);
    }
    if (size < 8) return undefined;
    at += size;
  }
  return undefined;
}

function largest(properties: readonly Box[]): ImageSize | undefined {
  const sizes = properties
    .filter(({ type, body }) => type === 'ispe' && body.length >= 12)
    .map(({ body }) => ({ width: body.readUInt32BE(4), height: body.readUInt32BE(8) }));
  return sizes.reduce<ImageSize | undefined>(
    (best, size) => (best && best.width * best.height >= size.width * size.height ? best : size),
    undefined,
  );
}

function primaryItem(body: Buffer | undefined): number | undefined {
  if (body === undefined || body.length < 6) return undefined;
  return body[0] === 0 ? body.readUInt16BE(4) : body.length < 8 ? undefined : body.readUInt32BE(4);
}

/** The indexes of an item's properties, from 1. */
function propertiesOf(item: number | undefined, body: Buffer | undefined): readonly number[] {
  if (item === undefined || body === undefined || body.length < 8) return [];
  const [hasLongIds, hasLongIndexes] = [body.readUInt8(0) > 0, (body.readUInt8(3) & 1) === 1];
  let at = 8;
  for (let left = body.readUInt32BE(4); left > 0; left -= 1) {
    const idBytes = hasLongIds ? 4 : 2;
    if (at + idBytes + 1 > body.length) return [];
    const [id, count] = [body.readUIntBE(at, idBytes), body.readUInt8(at + idBytes)];
    at += idBytes + 1;
    const bytes = hasLongIndexes ? 2 : 1;
    if (at + count * bytes > body.length) return [];
    if (id === item) {
      return Array.from({ length: count }, (_, index) =>
        hasLongIndexes ? body.readUInt16BE(at + index * 2) & 0x7f_ff : body.readUInt8(at + index) & 0x7f,
      );
    }
    at += count * bytes;
  }
  return [];
}

function bodyOf(parts: readonly Box[], wanted: string): Buffer | undefined {
  return parts.find(({ type }) => type === wanted)?.body;
}

/** The boxes of an ISO base media file. A 64-bit or open-ended size means media data: what we look for came before. */
function* boxes(bytes: Buffer | undefined): Generator<Box> {
  for (let offset = 0; bytes && offset + 8 <= bytes.length;) {
    const size = bytes.readUInt32BE(offset);
    if (size < 8) return;
    yield { type: bytes.toString('latin1', offset + 4, offset + 8), body: bytes.subarray(offset + 8, offset + size) };
    offset += size;
  }
}
