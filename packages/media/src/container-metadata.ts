/**
 * Duration and size of a stored video or audio file, from its container's own tables: read in pieces from the object
 * store, and never more than a bound, because every output passes through here. Nothing is decoded.
 */
import type { Input } from 'mediabunny';
import type { ByteSource } from './byte-source.ts';
import { mp3PaddingSeconds } from './mp3-padding.ts';

/** What a container states about itself. */
export interface ContainerMetadata {
  /** To the millisecond; without the padding that an MP3's encoder added. */
  readonly durationSeconds?: number;
  /** The width as a player shows it: upright, with square pixels. */
  readonly width?: number;
  readonly height?: number;
  /** Whether it has audio and no video. */
  readonly isAudioOnly: boolean;
  /**
   * Whether it is an MP4 without any track: the part that locates its frames was cut off, and no player can play it.
   */
  readonly isEmpty: boolean;
}

/** A video whose tables are at its end takes five reads; one without tables would take its whole length. */
const MAX_READS = 64;
const MAX_BYTES = 8 * 1024 * 1024;
/** Sixteen files are archived at a time in a worker that may grow by 150 MB. */
const CACHE_BYTES = 2 * 1024 * 1024;

/**
 * Reads what a container states, as far as the bounds allow: a broken or unbounded one yields no metadata.
 *
 * @param beginning the file's first bytes, which are not read again.
 * @throws the error of the source if it cannot be read.
 */
export async function readContainerMetadata(source: ByteSource, beginning: Buffer): Promise<ContainerMetadata> {
  let [reads, bytes] = [0, 0];
  let sourceError: unknown;
  const read = async (start: number, end: number): Promise<Buffer> => {
    if (end <= beginning.length) return beginning.subarray(start, end);
    reads += 1;
    bytes += end - start;
    if (reads > MAX_READS || bytes > MAX_BYTES) throw new RangeError('the container requires too many reads');
    try {
      return await source.read(start, end);
    } catch (error) {
      sourceError ??= error;
      throw error;
    }
  };
  const input = await openInput(read, source.sizeBytes);
  try {
    return await readMetadata(input, beginning);
  } catch {
    if (sourceError !== undefined) throw sourceError;
    return { isAudioOnly: false, isEmpty: false };
  } finally {
    input.dispose();
  }
}

async function openInput(read: (start: number, end: number) => Promise<Buffer>, sizeBytes: number): Promise<Input> {
  // Loaded when the first video or audio file arrives: a process that only ever sees images starts without it.
  const { ADTS, CustomSource, FLAC, Input, MATROSKA, MP3, MP4, OGG, QTFF, WAVE, WEBM } = await import('mediabunny');
  return new Input({
    // No playlists.
    formats: [MP4, QTFF, WEBM, MATROSKA, MP3, WAVE, FLAC, OGG, ADTS],
    source: new CustomSource({
      getSize: () => sizeBytes,
      read,
      prefetchProfile: 'fileSystem',
      maxCacheSize: CACHE_BYTES,
      handleUnhandledError: () => {},
    }),
  });
}

async function readMetadata(input: Input, beginning: Buffer): Promise<ContainerMetadata> {
  const video = await input.getPrimaryVideoTrack();
  const audio = video === null ? await input.getPrimaryAudioTrack() : null;
  // A video lasts as long as its frames: the last block of its audio may be longer.
  const tracks = video === null ? undefined : [video];
  // The duration in the header comes first: only if the header has none is the end of the file read. Not so for MP4,
  // whose tables list every frame, and whose header also counts audio that begins before them.
  const isMp4 = ['MP4', 'QuickTime File Format'].includes((await input.getFormat()).name);
  const isEmpty = isMp4 && (await input.getTracks()).length === 0;
  const statedSeconds = isMp4 && video !== null ? null : await input.getDurationFromMetadata(tracks);
  const totalSeconds = statedSeconds ?? (await input.computeDuration(tracks).catch(() => 0));
  const seconds = totalSeconds - mp3PaddingSeconds(beginning);
  const durationSeconds = Math.round(seconds * 1000) / 1000;
  const [width, height] = video === null ? [0, 0] : [await video.getDisplayWidth(), await video.getDisplayHeight()];
  return {
    isAudioOnly: video === null && audio !== null,
    isEmpty,
    ...(Number.isFinite(durationSeconds) && durationSeconds > 0 ? { durationSeconds } : {}),
    ...(width > 0 && height > 0 ? { width: Math.round(width), height: Math.round(height) } : {}),
  };
}
