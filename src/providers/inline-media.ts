/** Puts the media of an input into the input, as data URLs: for upstreams that cannot, or should not, fetch URLs. */
import { readFile, stat } from 'node:fs/promises';
import { inputFault } from '@darkroom/api/facts/input-fault';
import { hasMember } from '../domain/json.ts';
import { ProviderRejection } from './provider.ts';
import type { GenerationRequest, InputFile } from './provider.ts';

/**
 * The maximum total size of inlined media: 64 MB. They take a third more as base64, and several times that while the
 * request is assembled.
 */
const MAX_MEDIA_BYTES = 64 * 1024 * 1024;

/**
 * @returns the input with each of its media as a data URL.
 * @throws {ProviderRejection} `input_invalid`: together they are larger than 64 MB.
 */
export async function withMediaInline(request: GenerationRequest): Promise<GenerationRequest['input']> {
  const { input, media } = request;
  if (media === undefined || media.size === 0) return input;
  await assertMediaFit(media);

  const dataUrls = new Map<string, string>();
  for (const [fieldPath, { mimeType, path }] of media) {
    dataUrls.set(fieldPath, `data:${mimeType};base64,${await readFile(path, 'base64')}`);
  }
  return withValues(input, dataUrls);
}

/** @returns a copy of an input with other values at some of its positions (`image_urls.0`), all of which it has. */
export function withValues(
  input: GenerationRequest['input'],
  values: ReadonlyMap<string, unknown>,
): GenerationRequest['input'] {
  const filled = structuredClone(input) as Record<string, unknown>;
  for (const [fieldPath, value] of values) put(filled, fieldPath.split('.'), value);
  return filled;
}

/** @throws {ProviderRejection} `input_invalid`: together they are larger than 64 MB. */
export async function assertMediaFit(media: ReadonlyMap<string, InputFile>): Promise<void> {
  const sizes = await Promise.all(
    Array.from(media, async ([fieldPath, { path }]) => ({ fieldPath, bytes: (await stat(path)).size })),
  );
  const totalBytes = sizes.reduce((sum, { bytes }) => sum + bytes, 0);
  if (totalBytes > MAX_MEDIA_BYTES) {
    const largest = sizes.reduce((one, other) => (other.bytes > one.bytes ? other : one));
    const fault = inputFault(sizes.length === 1 ? 'too_large' : 'too_large_together', largest.fieldPath);
    throw new ProviderRejection('input_invalid', { fault });
  }
}

/** Replaces the value at a position of the input, which must exist. */
function put(within: unknown, [name = '', ...rest]: readonly string[], value: unknown): void {
  if (!hasMember(within, name)) return;
  const members: Record<string, unknown> = within;
  if (rest.length === 0) members[name] = value;
  else put(members[name], rest, value);
}
