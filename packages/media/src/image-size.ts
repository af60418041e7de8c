/**
 * Width and height from an image's own header, in pixels as stored: an EXIF rotation is not applied. Separate from
 * `inspect.ts` because these are five file formats, each by its own specification; nothing is decoded, so an image of
 * any size costs microseconds.
 */

export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

const READERS: Readonly<Record<string, (bytes: Buffer) => ImageSize | undefined>> = {
  'image/png': pngSize,
  'image/jpeg': jpegSize,
  'image/gif': gifSize,
  'image/webp': webpSize,
  'image/avif': avifSize,
};

/**
 * Reads the size from the beginning of a file.
 *
 * @param mimeType one of png, jpeg, gif, webp, avif.
 * @returns undefined if the bytes end before the size, or make no sense.
 */
export function imageSize(mimeType: string, bytes: Uint8Array): ImageSize | undefined {
  const size = READERS[mimeType]?.(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  return size && size.width > 0 && size.height > 0 ? size : undefined;
}

/** PNG, third edition, 11.2.1: the first chunk is IHDR, with width and height first. */
function pngSize(bytes: Buffer): ImageSize | undefined {
  if (bytes.length < 24 || bytes.toString('latin1', 12, 16) !== 'IHDR') return undefined;
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
}

/** GIF89a, 18: the logical screen descriptor. */
function gifSize(bytes: Buffer): ImageSize | undefined {
  if (bytes.length < 10) return undefined;
  return { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) };
}

/** ITU-T T.81, B.2.2: the frame header (SOF0 to SOF15 but for DHT, JPG and DAC), after any number of other segments. */
function jpegSize(bytes: Buffer): ImageSize | undefined {
  let offset = 2;
  while (offset + 9 <= bytes.length) {
    if (bytes[offset] !== 0xff) return undefined;
    const marker = bytes.readUInt8(offset + 1);
    const isFill = marker === 0xff;
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
    if (isFrame) return { height: bytes.readUInt16BE(offset + 5), width: bytes.readUInt16BE(offset + 7) };
    offset += isFill ? 1 : 2 + bytes.readUInt16BE(offset + 2);
  }
  return undefined;
}

/** RFC 9649: the first chunk is VP8 (lossy), VP8L (lossless) or VP8X (extended). */
function webpSize(bytes: Buffer): ImageSize | undefined {
  if (bytes.length < 30) return undefined;
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8 ':
      // RFC 6386, 9.1: after frame tag and start code, 14 bits each; the upper two are a scaling hint.
      return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
    case 'VP8L': {
      const bits = bytes.readUInt32LE(21);
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    case 'VP8X':
      return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
    default:
      return undefined;
  }
}

/**
 * AVIF (ISO/IEC 23008-12): the item properties meta/iprp/ipco hold one `ispe` per image; tiles, alpha and previews
 * have their own, never larger than the image.
 */
function avifSize(bytes: Buffer): ImageSize | undefined {
  // `meta` is a full box: four bytes of version and flags before its children.
  const properties = findBox(findBox(findBox(bytes, 'meta')?.subarray(4), 'iprp'), 'ipco');
  let largest: ImageSize | undefined;
  for (const { type, body } of boxes(properties)) {
    if (type !== 'ispe' || body.length < 12) continue;
    const size = { width: body.readUInt32BE(4), height: body.readUInt32BE(8) };
    if (!largest || size.width * size.height > largest.width * largest.height) largest = size;
  }
  return largest;
}

function findBox(bytes: Buffer | undefined, type: string): Buffer | undefined {
  for (const box of boxes(bytes)) {
    if (box.type === type) return box.body;
  }
  return undefined;
}

/** The boxes of an ISO base media file. A 64-bit or open-ended size means media data: what we look for came before. */
function* boxes(bytes: Buffer | undefined): Generator<{ type: string; body: Buffer }> {
  for (let offset = 0; bytes && offset + 8 <= bytes.length;) {
    const size = bytes.readUInt32BE(offset);
    if (size < 8) return;
    yield { type: bytes.toString('latin1', offset + 4, offset + 8), body: bytes.subarray(offset + 8, offset + size) };
    offset += size;
  }
}
