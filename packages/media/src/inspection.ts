/**
 * What a file really is, from its own bytes: a provider's claim about it counts for nothing. Runs in a child process
 * only (inspect-child.ts), because the tables of a container are untrusted, and their reader can be made to work or
 * to allocate without end. Every task passes through here, so it reads 16 kB of an image, what is needed of a
 * container's tables, and decodes nothing.
 */
import { fileTypeFromBuffer } from 'file-type/core';
import { mediaTypeOf } from './media-types.ts';
import type { ByteSource } from './byte-source.ts';
import { containerFacts } from './container-metadata.ts';
import { imageSize } from './image-size.ts';
import { UnsupportedMediaError } from './unsupported-media-error.ts';
import type { MediaFacts } from './media-metadata.ts';

// Enough for nearly every file; images with large colour profiles or previews before the size need the second look.
const FIRST_LOOK_BYTES = 16 * 1024;
const SECOND_LOOK_BYTES = 1024 * 1024;

/** The detector's names where ours differ, and an animated PNG is a PNG. */
const OUR_NAMES: Readonly<Record<string, string>> = {
  'image/apng': 'image/png',
  'audio/x-m4a': 'audio/mp4',
  'audio/ogg; codecs=opus': 'audio/ogg',
  'video/matroska': 'video/x-matroska',
  'video/x-m4v': 'video/mp4',
};

const MP4_SOUND = { mimeType: 'audio/mp4', kind: 'audio', extension: 'm4a' } as const;

/**
 * MPEG layers I and II: no client or provider delivers them, and the byte order mark of a UTF-16 text looks like one.
 */
const NOT_TRUSTED = new Set(['mp1', 'mp2']);

/** Inspects a file. @throws {UnsupportedMediaError} its type is not served. */
export async function inspectSource(source: ByteSource): Promise<MediaFacts> {
  const { sizeBytes } = source;
  if (sizeBytes === 0) throw new UnsupportedMediaError();
  const beginning = await source.read(0, Math.min(sizeBytes, FIRST_LOOK_BYTES));
  const facts = await lookAt(beginning);
  if (!(facts instanceof UnsupportedMediaError)) {
    return facts.kind === 'image' ? facts : withContainerFacts(facts, source, beginning);
  }
  if (sizeBytes <= FIRST_LOOK_BYTES) throw facts;
  return inspectBeginning(await source.read(0, Math.min(sizeBytes, SECOND_LOOK_BYTES)));
}

async function withContainerFacts(facts: MediaFacts, source: ByteSource, beginning: Buffer): Promise<MediaFacts> {
  const { isSoundOnly, isEmpty, ...told } = await containerFacts(source, beginning);
  // Many encoders write the general brand on an MP4 with audio only.
  const isMp4Sound = isSoundOnly && facts.mimeType === 'video/mp4';
  return { ...facts, ...(isMp4Sound ? MP4_SOUND : {}), ...told, ...(isEmpty ? { isEmpty } : {}) };
}

/**
 * The same for a whole file in memory, or its beginning. Durations, and the sizes of videos, are not read: a
 * beginning does not hold them.
 *
 * @throws {UnsupportedMediaError}
 */
export async function inspectBeginning(bytes: Uint8Array): Promise<MediaFacts> {
  const facts = await lookAt(bytes);
  if (facts instanceof UnsupportedMediaError) throw facts;
  return facts;
}

async function lookAt(bytes: Uint8Array): Promise<MediaFacts | UnsupportedMediaError> {
  const detected = await fileTypeFromBuffer(bytes);
  if (!detected || NOT_TRUSTED.has(detected.ext)) return new UnsupportedMediaError();
  const mimeType = OUR_NAMES[detected.mime] ?? detected.mime;
  const type = mediaTypeOf(mimeType);
  if (!type) return new UnsupportedMediaError(mimeType);
  if (type.kind !== 'image') return { mimeType, ...type };
  const size = imageSize(mimeType, bytes);
  return size ? { mimeType, ...type, ...size } : new UnsupportedMediaError(mimeType);
}
