/**
 * What can be said about an image without seeing it: its kind and its size, from the first bytes of a `data:` URL. A
 * URL on the network is not fetched.
 */
import type { Conversation } from '../reading/conversation.ts';

/** The size is within this much, except for photographs with a lot of metadata. */
const HEAD_BYTES = 64 * 1024;

interface Kind {
  readonly name: string;
  readonly begins: RegExp;
  readonly size: (head: Buffer) => readonly [width: number, height: number] | undefined;
}

/** PNG, GIF, WebP and JPEG are what clients of OpenAI's API may send. */
const KINDS: readonly Kind[] = [
  { name: 'PNG', begins: /^\x89PNG/, size: (head) => [head.readUInt32BE(16), head.readUInt32BE(20)] },
  { name: 'GIF', begins: /^GIF8/, size: (head) => [head.readUInt16LE(6), head.readUInt16LE(8)] },
  { name: 'WebP', begins: /^RIFF.{4}WEBP/s, size: webpSize },
  { name: 'JPEG', begins: /^\xff\xd8\xff/, size: jpegSize },
];

export function describeImages(images: Conversation['images']): string | undefined {
  if (images.length === 0) return undefined;
  return images.map(({ url }) => describe(url)).join(' ');
}

/** Without the padding at its end. */
function base64Length(data: string): number {
  let length = data.length;
  while (data[length - 1] === '=') length -= 1;
  return length;
}

function describe(url: string): string {
  const comma = url.indexOf(',');
  if (!/^data:/i.test(url) || comma < 0) {
    const host = URL.canParse(url) ? ` at ${new URL(url).host}` : '';
    return `A picture${host}.`;
  }
  const data = url.slice(comma + 1);
  const head = Buffer.from(data.slice(0, (HEAD_BYTES / 3) * 4), 'base64');
  const kind = KINDS.find(({ begins }) => begins.test(head.toString('latin1', 0, 16)));
  const bytes = Math.floor((base64Length(data) * 3) / 4);
  return `A ${kind?.name ?? 'picture of an unknown kind'} image${sizeIn(head, kind)}, ${bytes} bytes.`;
}

function sizeIn(head: Buffer, kind: Kind | undefined): string {
  try {
    const size = kind?.size(head);
    return size === undefined ? '' : `, ${size[0]} × ${size[1]} pixels`;
  } catch (error) {
    // The data ends before its size.
    if (error instanceof RangeError) return '';
    throw error;
  }
}

function webpSize(head: Buffer): readonly [number, number] | undefined {
  switch (head.toString('latin1', 12, 16)) {
    case 'VP8 ':
      return [head.readUInt16LE(26) & 0x3fff, head.readUInt16LE(28) & 0x3fff];
    case 'VP8L': {
      const bits = head.readUInt32LE(21);
      return [(bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1];
    }
    case 'VP8X':
      return [head.readUIntLE(24, 3) + 1, head.readUIntLE(27, 3) + 1];
    default:
      return undefined;
  }
}

/** The size is in the first segment that begins a frame: C0 to CF, without C4, C8 and CC. */
function jpegSize(head: Buffer): readonly [number, number] | undefined {
  let at = 2;
  while (at + 9 <= head.length && head[at] === 0xff) {
    const marker = head.readUInt8(at + 1);
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker))
      return [head.readUInt16BE(at + 7), head.readUInt16BE(at + 5)];
    at += 2 + head.readUInt16BE(at + 2);
  }
  return undefined;
}
