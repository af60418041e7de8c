/**
 * Opens a video or audio file with FFmpeg, within bounds: the accepted containers and codecs are listed here,
 * playlists are not among them, and FFmpeg is given an open file instead of permission to open files. Runs in media
 * children only.
 */
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import {
  AVDISCARD_ALL,
  AVMEDIA_TYPE_AUDIO,
  AVMEDIA_TYPE_VIDEO,
  AVSEEK_FLAG_BACKWARD,
  AV_DISPOSITION_ATTACHED_PIC,
  AV_LOG_QUIET,
} from 'node-av/constants';
import { Codec, CodecContext, Dictionary, FFmpegError, FormatContext, Frame, Log, Packet } from 'node-av/lib';
import type { Stream } from 'node-av/lib';
import { MAX_VIDEO_EDGE, MAX_SECONDS } from './video-bounds.ts';
import { UndecodableMediaError } from './undecodable-media-error.ts';

/** FFmpeg's names of the containers in media-types.ts. */
const CONTAINERS = 'mov,matroska,webm,mp3,wav,flac,ogg,aac';

/** What those containers hold in practice; no codec for subtitles, image sequences or one vendor's camera. */
const VIDEO_CODECS = 'h264 hevc libdav1d vp8 vp9 libvpx-vp9 mpeg4 mpeg2video mjpeg prores';
const AUDIO_CODECS = 'aac mp3 mp3float flac opus libopus vorbis libvorbis alac ac3 eac3 pcm_alaw pcm_mulaw';
const PCM_CODECS = 'pcm_u8 pcm_s16le pcm_s16be pcm_s24le pcm_s24be pcm_s32le pcm_s32be pcm_f32le pcm_f64le';
const CODECS = [VIDEO_CODECS, AUDIO_CODECS, PCM_CODECS].join(' ').split(' ');

/** The unit of FFmpeg's duration of a whole file. */
const TICKS_PER_SECOND = 1_000_000;

/** One track of an open file, decoded frame by frame. */
export interface Track {
  readonly stream: Stream;
  /** Of the track if it states one, else of the file; undefined if neither does. */
  readonly durationSeconds: number | undefined;
  /** Whether the file has an audio track too. */
  readonly hasAudio: boolean;
  /** The timestamp of the file's beginning. */
  readonly startSeconds: number;
  /** Frees nothing: each frame is valid until the next is requested. */
  frames(): AsyncGenerator<Frame>;
  /** Seeks to the last position at or before a time from which decoding can start; to the beginning if it cannot. */
  seek(seconds: number): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens the best track of a kind.
 *
 * @throws {UndecodableMediaError} there is none, or it is beyond bounds.
 */
export async function openTrack(path: string, kind: 'video' | 'audio'): Promise<Track> {
  Log.setLevel(AV_LOG_QUIET);
  const file = await open(path, 'r');
  const container = new FormatContext();
  try {
    const stream = await findStream(container, file, path, kind);
    const decoder = await openDecoder(stream);
    for (const other of container.streams) if (other.index !== stream.index) other.discard = AVDISCARD_ALL;
    return createTrack(container, file, stream, decoder);
  } catch (error) {
    await container.closeInput();
    await file.close();
    throw error;
  }
}

async function findStream(
  container: FormatContext,
  file: FileHandle,
  path: string,
  kind: 'video' | 'audio',
): Promise<Stream> {
  const bounds = { format_whitelist: CONTAINERS, codec_whitelist: CODECS.join(','), max_streams: 16 };
  // Windows is the only platform where a library with its own C runtime cannot use our descriptors.
  const [url, source] =
    process.platform === 'win32'
      ? [`file:${path}`, { protocol_whitelist: 'file' }]
      : ['fd:', { fd: file.fd, protocol_whitelist: 'fd' }];
  const opened = await container.openInput(url, null, Dictionary.fromObject({ ...bounds, ...source }));
  if (opened < 0)
    throw new UndecodableMediaError(`not ${kind === 'video' ? 'a video' : 'an audio'} file that can be read`);
  // Before anything is decoded: `findStreamInfo` decodes, and cannot be given bounds (node-av 6.1.1 crashes on them).
  for (const { codecpar } of container.streams) requireEdges(codecpar.width, codecpar.height);
  const found = await container.findStreamInfo(null);
  const index = container.findBestStream(kind === 'video' ? AVMEDIA_TYPE_VIDEO : AVMEDIA_TYPE_AUDIO);
  const stream = container.streams[index];
  if (found < 0 || index < 0 || stream === undefined) throw new UndecodableMediaError(`contains no ${kind}`);
  if ((stream.disposition & AV_DISPOSITION_ATTACHED_PIC) !== 0) throw new UndecodableMediaError(`contains no ${kind}`);
  if (kind === 'video') requireVideoSize(stream.codecpar.width, stream.codecpar.height);
  if (Number(container.duration) > MAX_SECONDS * TICKS_PER_SECOND) {
    throw new UndecodableMediaError(`longer than ${MAX_SECONDS} s`, { kind: 'too_long' });
  }
  return stream;
}

/** @throws {UndecodableMediaError} a frame has no pixels, or too many. */
export function requireVideoSize(width: number, height: number): void {
  if (width < 1 || height < 1) throw new UndecodableMediaError('contains no video');
  requireEdges(width, height);
}

function requireEdges(width: number, height: number): void {
  if (width > MAX_VIDEO_EDGE || height > MAX_VIDEO_EDGE) {
    throw new UndecodableMediaError(`larger than ${MAX_VIDEO_EDGE} x ${MAX_VIDEO_EDGE} pixels`, {
      kind: 'too_many_pixels',
    });
  }
}

async function openDecoder(stream: Stream): Promise<CodecContext> {
  const codec = Codec.findDecoder(stream.codecpar.codecId);
  if (codec === null || !CODECS.includes(codec.name ?? '')) {
    throw new UndecodableMediaError('compressed in a way that is not supported');
  }
  const decoder = new CodecContext();
  decoder.allocContext3(codec);
  stream.codecpar.toContext(decoder);
  // Needed so that the samples that a file declares as padding are left out.
  decoder.pktTimebase = stream.timeBase;
  decoder.threadCount = 1;
  const bounds = Dictionary.fromObject({ max_pixels: MAX_VIDEO_EDGE ** 2 });
  if ((await decoder.open2(codec, bounds)) < 0) throw new UndecodableMediaError('damaged: its decoder does not start');
  return decoder;
}

function createTrack(container: FormatContext, file: FileHandle, stream: Stream, decoder: CodecContext): Track {
  const streamSeconds = Number(stream.duration) * stream.timeBase.toDouble();
  const fileSeconds = Number(container.duration) / TICKS_PER_SECOND;
  // If the file does not state it, FFmpeg returns minus 292,000 years.
  const startSeconds = Number(container.startTime) / TICKS_PER_SECOND;
  return {
    stream,
    durationSeconds: [streamSeconds, fileSeconds].find((seconds) => seconds > 0),
    hasAudio: container.findBestStream(AVMEDIA_TYPE_AUDIO) >= 0,
    startSeconds: startSeconds > -MAX_SECONDS ? startSeconds : 0,
    frames: () => decodeFrames(container, stream, decoder),
    async seek(seconds) {
      const target = BigInt(Math.floor(seconds / stream.timeBase.toDouble()));
      const sought = await container.seekFrame(stream.index, target, AVSEEK_FLAG_BACKWARD);
      if (sought < 0) await container.seekFrame(stream.index, 0n, AVSEEK_FLAG_BACKWARD);
      decoder.flushBuffers();
    },
    async close() {
      decoder.freeContext();
      await container.closeInput();
      await file.close();
    },
  };
}

/** Damaged packets are skipped, as players do; a file in which nothing decodes yields no frame. */
async function* decodeFrames(
  container: FormatContext,
  stream: Stream,
  decoder: CodecContext,
): AsyncGenerator<Frame, void> {
  const packet = new Packet();
  packet.alloc();
  const frame = new Frame();
  frame.alloc();
  try {
    for (let isOver = false; !isOver;) {
      isOver = (await container.readFrame(packet)) < 0;
      if (!isOver && packet.streamIndex !== stream.index) {
        packet.unref();
        continue;
      }
      await decoder.sendPacket(isOver ? null : packet);
      packet.unref();
      while ((await decoder.receiveFrame(frame)) >= 0) {
        yield frame;
        frame.unref();
      }
    }
  } finally {
    packet.free();
    frame.free();
  }
}

/** @throws {FFmpegError} the result is an error code. @param action for its message. */
export function requireSuccess(result: number, action: string): number {
  FFmpegError.throwIfError(result, action);
  return result;
}
