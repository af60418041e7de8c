/**
 * A transcript: what was said in audio or video, with the times of its segments where they are known. Providers report
 * it in JSON of their own; this is the form that all of them are read into.
 */
import { isRecord } from '../domain/json.ts';
import { MAX_TRANSCRIPT_BYTES } from './formats.ts';

/** A part of a transcript. Times are in seconds from the beginning. */
export interface TranscriptSegment {
  readonly start: number;
  /** Not before `start`. */
  readonly end: number;
  readonly text: string;
  readonly speaker?: string;
}

export interface Transcript {
  /** Empty: nothing was said. */
  readonly text: string;
  /** As the provider names it: `en`, `english`. */
  readonly language?: string;
  /** The length of what was transcribed, in seconds. */
  readonly durationSeconds?: number;
  /** By their start. Absent: the provider reports no times. */
  readonly segments?: readonly TranscriptSegment[];
}

/** A day of speech has fewer. */
const MAX_SEGMENTS = 100_000;
const MAX_NAME_LENGTH = 200;

/**
 * Reads a transcript from an answer: `text`, and where they are known `language`, `duration` and `segments` with
 * `start`, `end`, `text` and `speaker`. These are the names of OpenAI; other members are ignored.
 *
 * @returns undefined if there is no text, or more than a file of a transcript may have. A segment that cannot be read is
 *   left out; without any other, or with none for a text, there are no times.
 */
export function transcriptOf(answer: unknown): Transcript | undefined {
  if (!isRecord(answer) || typeof answer['text'] !== 'string') return undefined;
  if (lengthOf(answer) > MAX_TRANSCRIPT_BYTES) return undefined;
  const language = nameOf(answer['language']);
  const durationSeconds = secondsOf(answer['duration']);
  const text = textOf(answer['text']);
  const segments = segmentsOf(answer['segments'], text);
  return {
    text,
    ...(language === undefined ? {} : { language }),
    ...(durationSeconds === undefined ? {} : { durationSeconds }),
    ...(segments === undefined ? {} : { segments }),
  };
}

/** In characters. */
function lengthOf({ text, segments }: Readonly<Record<string, unknown>>): number {
  const list: readonly unknown[] = Array.isArray(segments) && segments.length <= MAX_SEGMENTS ? segments : [];
  const texts = [text, ...list.map((each) => (isRecord(each) ? each['text'] : undefined))];
  return texts.reduce<number>((sum, each) => sum + (typeof each === 'string' ? each.length : 0), 0);
}

function segmentsOf(list: unknown, text: string): readonly TranscriptSegment[] | undefined {
  if (!Array.isArray(list) || list.length > MAX_SEGMENTS) return undefined;
  const segments = list.flatMap((each) => segmentOf(each) ?? []);
  if (segments.length === 0 && text !== '') return undefined;
  return segments.toSorted((one, other) => one.start - other.start);
}

/** Without control characters other than tabs and line feeds, which no text needs and no player can show. */
function textOf(text: string): string {
  return text
    .replaceAll(/\r\n?/g, '\n')
    .replaceAll(/(?![\t\n])\p{Cc}/gu, ' ')
    .trim();
}

function segmentOf(value: unknown): TranscriptSegment | undefined {
  if (!isRecord(value) || typeof value['text'] !== 'string') return undefined;
  const [start, end] = [secondsOf(value['start']), secondsOf(value['end'])];
  if (start === undefined || end === undefined) return undefined;
  const speaker = nameOf(value['speaker']);
  return {
    start,
    end: Math.max(start, end),
    text: textOf(value['text']),
    ...(speaker === undefined ? {} : { speaker }),
  };
}

/** Some providers report times as decimal texts. */
function secondsOf(value: unknown): number | undefined {
  const seconds = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof seconds === 'number' && Number.isFinite(seconds) && seconds >= 0 && seconds < 1e9 ? seconds : undefined;
}

function nameOf(value: unknown): string | undefined {
  const name = typeof value === 'string' ? value.trim() : '';
  return name === '' || name.length > MAX_NAME_LENGTH ? undefined : name;
}
