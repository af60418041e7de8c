/** Images that are hard to compress, and the size of a tool's answer on the wire. */
import { randomBytes } from 'node:crypto';
import sharp from 'sharp';
import type { MadeOutput } from '../http/serve.ts';
import type { Called } from './mcp-connection.ts';

/** Clients end a call at an event of this size: the default of the official Python client from 2.0 on. */
export const MAX_EVENT_BYTES = 1024 * 1024;
/** The limit for all images of an answer together, in Base64 (docs/guides/mcp.md). */
export const MAX_INLINE_BYTES = 700_000;

/** Noise, which no format compresses. */
export async function noise(width: number, height: number, format: 'png' | 'jpeg' = 'png'): Promise<MadeOutput> {
  const image = sharp(randomBytes(width * height * 3), { raw: { width, height, channels: 3 } });
  const bytes = await image.toFormat(format).toBuffer();
  return { type: 'image', bytes, mimeType: `image/${format}`, width, height };
}

/** The images of an answer, as they are sent. */
export function imagesIn({ content }: Pick<Called, 'content'>): readonly { data: string; mimeType: string }[] {
  return content.filter((block) => block.type === 'image');
}

export function inlineBytes(called: Pick<Called, 'content'>): number {
  return imagesIn(called).reduce((sum, { data }) => sum + data.length, 0);
}

/** URLs of originals, whether in links or in texts. */
export function addressesIn({ content }: Pick<Called, 'content'>): readonly string[] {
  return content.flatMap((block) => {
    if (block.type === 'resource_link') return [block.uri];
    const address = block.type === 'text' ? /^The original .*: (http\S+)$/.exec(block.text)?.[1] : undefined;
    return address === undefined ? [] : [address];
  });
}
