/**
 * What a stored file really is, from its own bytes: a provider's word for it counts for nothing. On the way of every
 * task, so it reads 16 kB of a picture, what is needed of a container's tables, and decodes nothing.
 */
import { fileTypeFromBuffer } from 'file-type/core';
import { mediaTypeOf } from '../files/media-types.ts';
import type { MediaKind } from '../files/media-types.ts';
import type { ObjectStore } from '../files/object-store.ts';
import { containerFacts } from './container-facts.ts';
import { imageSize } from './image-size.ts';

/** What is known of a media file. Images always have a size; films and sounds what their containers tell. */
export interface MediaFacts {
  /** Lower case, without parameters. */
  readonly mimeType: string;
  readonly kind: MediaKind;
  /** Without a dot. */
  readonly extension: string;
  readonly width?: number;
  readonly height?: number;
  readonly durationSeconds?: number;
  /** Nothing of it can be played: what is left of an MP4 whose index was cut off. */
  readonly isEmpty?: true;
}

/** The bytes are no image, video or audio of a type that is served: a page, JSON, text, nothing, or half a header. */
export class UnsupportedMediaError extends Error {
  override readonly name = 'UnsupportedMediaError';
  /** What the bytes are instead, where that is known. */
  readonly mimeType: string | undefined;

  constructor(mimeType?: string) {
    super(`not a supported image, video or audio file: ${mimeType ?? 'unknown type'}`);
    this.mimeType = mimeType;
  }
}

// Enough for nearly every file; pictures with large colour profiles or previews before the size take the second look.
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

/** MPEG layers I and II: nobody delivers them, and the byte order mark of a UTF-16 text looks like one. */
const NOT_TRUSTED = new Set(['mp1', 'mp2']);

/**
 * Reads what a stored object is.
 *
 * @throws {UnsupportedMediaError} it is nothing that is served.
 * @throws {ObjectNotFoundError} there is no such object.
 */
export async function inspectMedia(store: ObjectStore, key: string, sizeBytes: number): Promise<MediaFacts> {
  if (sizeBytes === 0) throw new UnsupportedMediaError();
  const beginning = await readBeginning(store, key, FIRST_LOOK_BYTES);
  const facts = await lookAt(beginning);
  if (!(facts instanceof UnsupportedMediaError)) {
    return facts.kind === 'image' ? facts : withContainerFacts(facts, store, { key, sizeBytes, beginning });
  }
  if (sizeBytes <= FIRST_LOOK_BYTES) throw facts;
  return await inspectBytes(await readBeginning(store, key, SECOND_LOOK_BYTES));
}

async function withContainerFacts(
  facts: MediaFacts,
  store: ObjectStore,
  file: { readonly key: string; readonly sizeBytes: number; readonly beginning: Buffer },
): Promise<MediaFacts> {
  const { isSoundOnly, isEmpty, ...told } = await containerFacts(store, file);
  // Many write the general brand on an MP4 of sound alone.
  const isMp4Sound = isSoundOnly && facts.mimeType === 'video/mp4';
  return { ...facts, ...(isMp4Sound ? MP4_SOUND : {}), ...told, ...(isEmpty ? { isEmpty } : {}) };
}

/**
 * The same for bytes in memory: a whole file, or its beginning. Durations, and the sizes of films, are not looked for: a
 * beginning does not hold them.
 *
 * @throws {UnsupportedMediaError}
 */
export async function inspectBytes(bytes: Uint8Array): Promise<MediaFacts> {
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

async function readBeginning(store: ObjectStore, key: string, lengthBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of await store.read(key, { start: 0, end: lengthBytes - 1 })) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
