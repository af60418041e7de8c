/**
 * What a file really is, from its own bytes: a provider's claim about it counts for nothing. Runs in a child process
 * only (inspect-child.ts), because the tables of a container are untrusted, and their reader can be made to work or
 * to allocate without end. Every task passes through here, so it reads 16 kB of an image, what is needed of a
 * container's tables, and decodes nothing.
 */
import { fileTypeFromBuffer } from 'file-type/core';
import { mediaTypeOf } from './media-types.ts';
import type { ByteSource } from './byte-source.ts';
import { readContainerMetadata } from './container-metadata.ts';
import { imageSize } from './image-size.ts';
import { UnsupportedMediaError } from './unsupported-media-error.ts';
import type { MediaMetadata } from './media-metadata.ts';

// Enough for nearly every file; images with large colour profiles or previews before the size need the second look.
const FIRST_READ_BYTES = 16 * 1024;
const SECOND_READ_BYTES = 1024 * 1024;

/** The detector's names where ours differ, and an animated PNG is a PNG. */
const MIME_ALIASES: Readonly<Record<string, string>> = {
  'image/apng': 'image/png',
  'audio/x-m4a': 'audio/mp4',
  'audio/ogg; codecs=opus': 'audio/ogg',
  'video/matroska': 'video/x-matroska',
  'video/x-m4v': 'video/mp4',
};

const MP4_AUDIO = { mimeType: 'audio/mp4', kind: 'audio', extension: 'm4a' } as const;

/**
 * MPEG layers I and II: no client or provider delivers them, and the byte order mark of a UTF-16 text looks like one.
 */
const IGNORED_TYPES = new Set(['mp1', 'mp2']);

/** Inspects a file. @throws {UnsupportedMediaError} its type is not served. */
export async function inspectSource(source: ByteSource): Promise<MediaMetadata> {
  const { sizeBytes } = source;
  if (sizeBytes === 0) throw new UnsupportedMediaError();
  const beginning = await source.read(0, Math.min(sizeBytes, FIRST_READ_BYTES));
  const metadata = await detectType(beginning);
  if (!(metadata instanceof UnsupportedMediaError)) {
    return metadata.kind === 'image' ? metadata : addContainerMetadata(metadata, source, beginning);
  }
  if (sizeBytes <= FIRST_READ_BYTES) throw metadata;
  return inspectBeginning(await source.read(0, Math.min(sizeBytes, SECOND_READ_BYTES)));
}

async function addContainerMetadata(
  metadata: MediaMetadata,
  source: ByteSource,
  beginning: Buffer,
): Promise<MediaMetadata> {
  const { isAudioOnly, isEmpty, ...stated } = await readContainerMetadata(source, beginning);
  // Many encoders write the general brand on an MP4 with audio only.
  const isMp4Audio = isAudioOnly && metadata.mimeType === 'video/mp4';
  return { ...metadata, ...(isMp4Audio ? MP4_AUDIO : {}), ...stated, ...(isEmpty ? { isEmpty } : {}) };
}

/**
 * The same for a whole file in memory, or its beginning. Durations, and the sizes of videos, are not read: a
 * beginning does not hold them.
 *
 * @throws {UnsupportedMediaError}
 */
export async function inspectBeginning(bytes: Uint8Array): Promise<MediaMetadata> {
  const metadata = await detectType(bytes);
  if (metadata instanceof UnsupportedMediaError) throw metadata;
  return metadata;
}

async function detectType(bytes: Uint8Array): Promise<MediaMetadata | UnsupportedMediaError> {
  const detected = await fileTypeFromBuffer(bytes);
  if (!detected || IGNORED_TYPES.has(detected.ext)) return new UnsupportedMediaError();
  const mimeType = MIME_ALIASES[detected.mime] ?? detected.mime;
  const type = mediaTypeOf(mimeType);
  if (type === undefined || type.kind === 'text') return new UnsupportedMediaError(mimeType);
  if (type.kind !== 'image') return { mimeType, ...type };
  const size = imageSize(mimeType, bytes);
  return size ? { mimeType, ...type, ...size } : new UnsupportedMediaError(mimeType);
}
