/** Puts the media of an input into the input, as data URLs: for upstreams that cannot, or should not, fetch URLs. */
import { readFile, stat } from 'node:fs/promises';
import { inputFault } from '../domain/input-fault.ts';
import { ProviderRejection } from './provider.ts';
import type { GenerationRequest } from './provider.ts';

/**
 * The maximum total size of inlined media: 64 MB. They take a third more as base64, and several times that while the
 * request is assembled.
 */
const MAX_MEDIA_BYTES = 64 * 1024 * 1024;

/**
 * @returns the input with each of its media as a data URL.
 * @throws {ProviderRejection} `input_invalid`: together they are larger than 64 MB.
 */
export async function withMediaInline({ input, media }: GenerationRequest): Promise<GenerationRequest['input']> {
  if (media === undefined || media.size === 0) return input;
  const sizes = await Promise.all(
    Array.from(media, async ([fieldPath, { path }]) => ({ fieldPath, bytes: (await stat(path)).size })),
  );
  const totalBytes = sizes.reduce((sum, { bytes }) => sum + bytes, 0);
  if (totalBytes > MAX_MEDIA_BYTES) {
    const largest = sizes.reduce((one, other) => (other.bytes > one.bytes ? other : one));
    const fault = inputFault(sizes.length === 1 ? 'too_large' : 'too_large_together', largest.fieldPath);
    throw new ProviderRejection('input_invalid', { fault });
  }

  const filled = structuredClone(input) as Record<string, unknown>;
  for (const [fieldPath, { mimeType, path }] of media) {
    put(filled, fieldPath.split('.'), `data:${mimeType};base64,${await readFile(path, 'base64')}`);
  }
  return filled;
}

/** Replaces the value at a position of the input, which must exist, with a string. */
function put(within: unknown, [name = '', ...rest]: readonly string[], text: string): void {
  if (typeof within !== 'object' || within === null || !Object.hasOwn(within, name)) return;
  const members = within as Record<string, unknown>;
  if (rest.length === 0) members[name] = text;
  else put(members[name], rest, text);
}
