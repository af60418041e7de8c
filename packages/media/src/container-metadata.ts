/**
 * What the tables of an MP4, WebM, Matroska or Ogg say: which tracks there are, how large the image is, and when the last
 * packet ends. Read in pieces from the object store, as often as the bounds allow. Nothing is decoded.
 */
import type { Input, InputTrack } from 'mediabunny';
import { countPackets } from './audio-packets.ts';
import type { ByteSource } from './byte-source.ts';
import type { AudioLength } from './audio-frames.ts';
import { lengthOf } from './audio-frames.ts';
import type { FileWindow } from './file-window.ts';

/** What a container says. */
export interface ContainerMetadata extends AudioLength {
  /** The width as a player shows it: upright, with square pixels. */
  readonly width?: number;
  readonly height?: number;
  /** What is in it; absent: it has no track, or its tracks cannot be read. */
  readonly content?: 'video' | 'audio';
  /**
   * Whether it is an MP4 without any track: the part that locates its frames was cut off, and no player can play it.
   */
  readonly isEmpty?: true;
}

/** A file with tables takes five reads. One without is read as a whole, three times at most, in pieces of at least 64 kB. */
const READS = { least: 64, bytesEach: 20 * 1024 };
const BYTES = { least: 8 * 1024 * 1024, factor: 3 };
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
  const maxReads = READS.least + source.sizeBytes / READS.bytesEach;
  const maxBytes = BYTES.least + source.sizeBytes * BYTES.factor;
  let sourceError: unknown;
  const read = async (start: number, end: number): Promise<Buffer> => {
    if (end <= beginning.length) return beginning.subarray(start, end);
    reads += 1;
    bytes += end - start;
    if (reads > maxReads || bytes > maxBytes) throw new RangeError('the container requires too many reads');
    try {
      return await source.read(start, end);
    } catch (error) {
      sourceError ??= error;
      throw error;
    }
  };
  const input = await openInput(read, source.sizeBytes);
  try {
    const metadata = await readMetadata(input).catch(() => ({}));
    if (sourceError !== undefined) throw sourceError;
    return metadata;
  } finally {
    input.dispose();
  }
}

/** Two blocks of the slowest AAC have as much. */
const LAST_BLOCK_SECONDS = 0.25;

/** A file of more is no recording, and is not read to its end. */
const MAX_CHAINS = 10;
const PAGE_HEADER_BYTES = 27;

/**
 * The same for an Ogg, which may be several recordings one after another (RFC 3533, §4: a chain): it lasts as long as
 * they do together.
 */
export async function readOggMetadata(source: ByteSource, file: FileWindow, start: number): Promise<ContainerMetadata> {
  const starts = await findChains(file, start);
  if (starts.length > MAX_CHAINS) return {};
  let whole: ContainerMetadata = {};
  let seconds = 0;
  for (const [index, first] of starts.entries()) {
    const sizeBytes = (starts[index + 1] ?? source.sizeBytes) - first;
    const read = (from: number, to: number): Promise<Buffer> =>
      source.read(first + from, first + Math.min(to, sizeBytes));
    const { durationSeconds, ...metadata } = await readContainerMetadata({ sizeBytes, read }, Buffer.alloc(0));
    // Without one of them, nothing is known of the whole.
    if (durationSeconds === undefined) return metadata;
    seconds += durationSeconds;
    whole = { ...metadata, ...whole };
  }
  return { ...whole, ...lengthOf(seconds) };
}

/**
 * Where a stream begins after another one had data. Every page is found, whatever is between them, and whatever a header
 * says about the length of its page.
 */
async function findChains(file: FileWindow, start: number): Promise<readonly number[]> {
  const starts = [start];
  let hasData = false;
  for (let position = start; starts.length <= MAX_CHAINS;) {
    const bytes = await file.from(position, PAGE_HEADER_BYTES);
    if (bytes.length < PAGE_HEADER_BYTES) return starts;
    const end = bytes.length - PAGE_HEADER_BYTES + 1;
    for (let at = bytes.indexOf('OggS'); at >= 0 && at < end; at = bytes.indexOf('OggS', at + 1)) {
      const isFirstPage = (bytes.readUInt8(at + 5) & 2) !== 0;
      if (isFirstPage && hasData) starts.push(position + at);
      hasData = !isFirstPage;
    }
    position += end;
  }
  return starts;
}

async function openInput(read: (start: number, end: number) => Promise<Buffer>, sizeBytes: number): Promise<Input> {
  // Loaded when the first such file arrives: a process that only ever sees images starts without it.
  const { CustomSource, Input, MATROSKA, MP4, OGG, QTFF, WEBM } = await import('mediabunny');
  return new Input({
    // No playlists.
    formats: [MP4, QTFF, WEBM, MATROSKA, OGG],
    source: new CustomSource({
      getSize: () => sizeBytes,
      read,
      prefetchProfile: 'fileSystem',
      maxCacheSize: CACHE_BYTES,
      handleUnhandledError: () => {},
    }),
  });
}

async function readMetadata(input: Input): Promise<ContainerMetadata> {
  const video = await input.getPrimaryVideoTrack();
  const audio = await input.getPrimaryAudioTrack();
  const isMp4 = ['MP4', 'QuickTime File Format'].includes((await input.getFormat()).name);
  const isEmpty = isMp4 && (await input.getTracks()).length === 0;
  // A video lasts as long as its frames, or as its audio if that goes on: the last block of audio may end a little later.
  // The length in a header is not believed: recorders that stream write none, and any other may be wrong.
  const secondsOf = async (track: InputTrack | null): Promise<number> =>
    track === null ? 0 : await track.computeDuration().catch(() => 0);
  const [videoSeconds, statedSeconds] = [await secondsOf(video), await secondsOf(audio)];
  const countedSeconds = audio === null ? 0 : await countPackets(audio);
  // Players leave out a little at the beginning and at the end of the packets.
  const audioSeconds = countedSeconds > statedSeconds + LAST_BLOCK_SECONDS ? countedSeconds : statedSeconds;
  const isByAudio = audioSeconds > videoSeconds + (video === null ? 0 : LAST_BLOCK_SECONDS);
  const seconds = isByAudio ? audioSeconds : videoSeconds;
  const [width, height] = video === null ? [0, 0] : [await video.getDisplayWidth(), await video.getDisplayHeight()];
  const channels = audio === null ? undefined : await audio.getNumberOfChannels();
  return {
    ...lengthOf(seconds, channels),
    ...(video !== null ? { content: 'video' } : audio !== null ? { content: 'audio' } : {}),
    ...(isEmpty ? { isEmpty } : {}),
    ...(width > 0 && height > 0 ? { width: Math.round(width), height: Math.round(height) } : {}),
  };
}
