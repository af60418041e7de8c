/**
 * What a file really is, from its own bytes: a provider's claim about it counts for nothing. Everything that the service
 * knows about a file is decided here, once, and stored with it. Runs in a child process only (inspect-child.ts), because
 * the tables of a container are untrusted, and their reader can be made to work or to allocate without end. Every file
 * passes through here, so it reads 16 kB of an image, what is needed of a container's tables, and decodes nothing; only
 * what has no tables is read to its end.
 */
import { fileTypeFromBuffer } from 'file-type/core';
import type { FileTypeResult } from 'file-type/core';
import { detectFrames, measureAdts, measureMp3 } from './audio-frames.ts';
import type { AudioLength } from './audio-frames.ts';
import type { ByteSource } from './byte-source.ts';
import { readContainerMetadata, readOggMetadata } from './container-metadata.ts';
import { FileWindow } from './file-window.ts';
import { measureFlac } from './flac-frames.ts';
import { readImageHeader } from './image-header.ts';
import { audioTypeOf, mediaTypeOf } from './media-types.ts';
import type { MediaMetadata } from './media-metadata.ts';
import { id3Length } from './mp3-padding.ts';
import { UnsupportedMediaError } from './unsupported-media-error.ts';
import { measureWave } from './wave.ts';

/** As much as the detector looks at. */
const BEGINNING_BYTES = 16 * 1024;

/** Two are seen at times, of different versions. */
const MAX_TAGS = 10;

/** The detector's names where ours differ. */
const MIME_ALIASES: Readonly<Record<string, string>> = {
  'audio/x-m4a': 'audio/mp4',
  'audio/ogg; codecs=opus': 'audio/ogg',
  'video/matroska': 'video/x-matroska',
  'video/x-m4v': 'video/mp4',
  // The same container, of phones.
  'video/3gpp': 'video/mp4',
  'video/3gpp2': 'video/mp4',
};

/** A container says what it may hold, and its tracks what it holds. */
const OF_VIDEO: Readonly<Record<string, string>> = { 'audio/mp4': 'video/mp4' };

/**
 * MPEG layers I and II: no client or provider delivers them, and the byte order mark of a UTF-16 text looks like one.
 */
const IGNORED_TYPES = new Set(['mp1', 'mp2']);

/** Types that are chains of frames, or samples, and no containers. @param start where a tag before them ends. */
const MEASURES: Readonly<Record<string, (file: FileWindow, start: number) => Promise<AudioLength>>> = {
  'audio/mpeg': measureMp3,
  'audio/aac': measureAdts,
  'audio/flac': measureFlac,
  'audio/wav': measureWave,
};

/** Inspects a file. @throws {UnsupportedMediaError} its type is not served. */
export async function inspectSource(source: ByteSource): Promise<MediaMetadata> {
  const file = new FileWindow(source);
  const image = await readImageHeader(file);
  if (image !== undefined) {
    const { mimeType, size } = image;
    const type = mediaTypeOf(mimeType);
    if (type === undefined || size === undefined) throw new UnsupportedMediaError(mimeType);
    return { mimeType, ...type, ...size };
  }
  const start = await endOfTags(file);
  const beginning = Buffer.from(await file.at(start, BEGINNING_BYTES));
  const detected = (await fileTypeFromBuffer(beginning)) ?? (await detectMore(file, start, beginning));
  if (!detected || IGNORED_TYPES.has(detected.ext)) throw new UnsupportedMediaError();
  const claimed = MIME_ALIASES[detected.mime] ?? detected.mime;
  const type = mediaTypeOf(claimed);
  if (type === undefined || (type.kind !== 'audio' && type.kind !== 'video')) throw new UnsupportedMediaError(claimed);
  const measure = MEASURES[claimed];
  if (measure !== undefined) return { mimeType: claimed, ...type, ...(await measure(file, start)) };
  const { content, ...stated } =
    claimed === 'audio/ogg'
      ? await readOggMetadata(source, file, start)
      : await readContainerMetadata(source, start === 0 ? beginning : Buffer.alloc(0));
  const mimeType =
    (content === 'audio' ? audioTypeOf(claimed) : content === 'video' ? OF_VIDEO[claimed] : undefined) ?? claimed;
  return { mimeType, ...(mediaTypeOf(mimeType) ?? type), ...stated };
}

/** What decoders read and the detector does not know. */
async function detectMore(file: FileWindow, start: number, beginning: Buffer): Promise<FileTypeResult | undefined> {
  if (/^(RF64|BW64)[^]{4}WAVE/.test(beginning.toString('latin1', 0, 12))) return { ext: 'wav', mime: 'audio/wav' };
  const frames = await detectFrames(file, start);
  if (frames === undefined) return undefined;
  return frames === 'aac' ? { ext: 'aac', mime: 'audio/aac' } : { ext: 'mp3', mime: 'audio/mpeg' };
}

/** Where the ID3 tags end, which may hold a cover of megabytes; 0 if nothing follows them. */
async function endOfTags(file: FileWindow): Promise<number> {
  let at = 0;
  for (let tags = 0; tags < MAX_TAGS && at < file.sizeBytes; tags += 1) {
    const length = id3Length(await file.at(at, 10));
    if (length === 0) return at;
    at += length;
  }
  return 0;
}
