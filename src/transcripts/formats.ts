/**
 * The files of a transcript: plain text, JSON, and the subtitle formats SubRip (`srt`) and WebVTT (`vtt`, W3C). What
 * was said can be anything, so it is written such that it cannot end a cue or begin another.
 */
import { isUtf8 } from 'node:buffer';
import type { Transcript, TranscriptSegment } from './transcript.ts';

export const TRANSCRIPT_FORMATS = ['text', 'json', 'srt', 'vtt'] as const;

export type TranscriptFormat = (typeof TRANSCRIPT_FORMATS)[number];

/** The field of an input that lists the formats; the files of a task are in its order. */
export const FORMATS_FIELD = 'formats';

const MIME_TYPES = {
  text: 'text/plain',
  json: 'application/json',
  srt: 'application/x-subrip',
  vtt: 'text/vtt',
} as const satisfies Readonly<Record<TranscriptFormat, string>>;

/** Ten hours of speech with times are about 2 MB. */
export const MAX_TRANSCRIPT_BYTES = 16 * 1024 * 1024;
/** What is looked at to recognise a format. */
const BEGINNING_BYTES = 4_096;

/** How a file of each format begins, after a byte order mark. */
const BEGINNINGS: Readonly<Record<TranscriptFormat, RegExp>> = {
  text: /^/,
  json: /^\s*\{/,
  srt: /^\s*($|\d+\s)/,
  vtt: /^WEBVTT(\s|$)/,
};

/** Subtitles have a time for each line. */
const TIMED: ReadonlySet<TranscriptFormat> = new Set(['srt', 'vtt']);

/** The formats that an input asks for. Without the field: JSON, which has everything. */
export function formatsOf(input: Readonly<Record<string, unknown>>): readonly TranscriptFormat[] {
  const listed = Object.hasOwn(input, FORMATS_FIELD) ? input[FORMATS_FIELD] : undefined;
  const named: readonly unknown[] = Array.isArray(listed) ? listed : [];
  const formats = named.flatMap((name) => TRANSCRIPT_FORMATS.find((format) => format === name) ?? []);
  return formats.length === 0 ? ['json'] : [...new Set(formats)];
}

export function mimeTypeOfFormat(format: TranscriptFormat): string {
  return MIME_TYPES[format];
}

/**
 * Writes a transcript.
 *
 * @returns undefined: the format needs times, and the transcript has none.
 */
export function renderTranscript(transcript: Transcript, format: TranscriptFormat): string | undefined {
  const { text, language, durationSeconds: duration, segments } = transcript;
  if (TIMED.has(format) && segments === undefined) return undefined;
  switch (format) {
    case 'text':
      return `${text}\n`;
    case 'json':
      return `${JSON.stringify({ text, language, duration, segments }, undefined, 2)}\n`;
    case 'srt':
      return subRip(segments ?? []);
    case 'vtt':
      return webVtt(segments ?? []);
  }
}

function subRip(segments: readonly TranscriptSegment[]): string {
  const cues = cuesOf(segments).map(({ start, end, lines, speaker }, index) => {
    // The format has no escapes: no line of a text may look like the times of a cue.
    const text = lines.replaceAll('-->', '->');
    const spoken = speaker === undefined ? text : `${speaker.replaceAll('-->', '->')}: ${text}`;
    return `${index + 1}\n${clock(start, ',')} --> ${clock(end, ',')}\n${spoken}\n`;
  });
  return cues.length === 0 ? '\n' : cues.join('\n');
}

function webVtt(segments: readonly TranscriptSegment[]): string {
  const cues = cuesOf(segments).map(({ start, end, lines, speaker }) => {
    const voice = speaker === undefined ? '' : `<v ${escaped(speaker)}>`;
    return `${clock(start, '.')} --> ${clock(end, '.')}\n${voice}${escaped(lines)}\n`;
  });
  return ['WEBVTT\n', ...cues].join('\n');
}

interface Cue {
  readonly start: number;
  readonly end: number;
  /** One or more lines, none of them empty. */
  readonly lines: string;
  /** One line. */
  readonly speaker: string | undefined;
}

/** An empty line ends a cue, so none has one; a segment without text has no cue. */
function cuesOf(segments: readonly TranscriptSegment[]): readonly Cue[] {
  return segments.flatMap(({ start, end, text, speaker }) => {
    const lines = visible(text)
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '')
      .join('\n');
    const name = speaker === undefined ? undefined : visible(speaker).replaceAll('\n', ' ');
    return lines === '' ? [] : [{ start, end, lines, speaker: name }];
  });
}

/** Without control characters; every kind of line end is a line feed. */
function visible(text: string): string {
  return text.replace(/\r\n?|[\u2028\u2029\u0085\v\f]/g, '\n').replace(/(?!\n)\p{Cc}/gu, ' ');
}

function escaped(text: string): string {
  // A fifth of the time of `replaceAll` for a text that consists of them.
  return text.split('&').join('&amp;').split('<').join('&lt;').split('>').join('&gt;');
}

/** `01:02:03,456`. */
function clock(seconds: number, separator: string): string {
  const milliseconds = Math.round(seconds * 1000);
  const parts = [milliseconds / 3_600_000, (milliseconds / 60_000) % 60, (milliseconds / 1000) % 60];
  const [hours, minutes, rest] = parts.map((part) => String(Math.floor(part)).padStart(2, '0'));
  return `${hours}:${minutes}:${rest}${separator}${String(milliseconds % 1000).padStart(3, '0')}`;
}

/**
 * Whether the bytes of a file are UTF-8 text that begins as the format does: it is checked before it is served, because
 * another service may have written it.
 */
export function isTranscript(bytes: Uint8Array, format: TranscriptFormat): boolean {
  if (bytes.length > MAX_TRANSCRIPT_BYTES || bytes.includes(0) || !isUtf8(bytes)) return false;
  try {
    const beginning = bytes.subarray(0, BEGINNING_BYTES);
    return BEGINNINGS[format].test(new TextDecoder('utf-8', { fatal: true }).decode(beginning, { stream: true }));
  } catch {
    return false;
  }
}
