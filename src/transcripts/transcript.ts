/**
 * A transcript: what was said in audio or video, with the times of its segments where they are known. Providers report
 * it in JSON of their own; this is the form that all of them are read into.
 */

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
  /** In order. Absent: the provider reports no times. */
  readonly segments?: readonly TranscriptSegment[];
}

/** A day of speech at two words a segment has fewer. */
const MAX_SEGMENTS = 100_000;
const MAX_NAME_LENGTH = 200;

/**
 * Reads a transcript from an answer: `text`, and where they are known `language`, `duration` and `segments` with
 * `start`, `end`, `text` and `speaker`. These are the names of OpenAI; other members are ignored.
 *
 * @returns undefined if there is no text. Segments of which any cannot be read count as not reported.
 */
export function transcriptOf(answer: unknown): Transcript | undefined {
  if (!isObject(answer) || typeof answer['text'] !== 'string') return undefined;
  const language = nameOf(answer['language']);
  const durationSeconds = secondsOf(answer['duration']);
  const segments = segmentsOf(answer['segments']);
  return {
    text: answer['text'].trim(),
    ...(language === undefined ? {} : { language }),
    ...(durationSeconds === undefined ? {} : { durationSeconds }),
    ...(segments === undefined ? {} : { segments }),
  };
}

function segmentsOf(list: unknown): readonly TranscriptSegment[] | undefined {
  if (!Array.isArray(list) || list.length > MAX_SEGMENTS) return undefined;
  const segments = list.map(segmentOf);
  return segments.every((segment) => segment !== undefined) ? segments : undefined;
}

function segmentOf(value: unknown): TranscriptSegment | undefined {
  if (!isObject(value) || typeof value['text'] !== 'string') return undefined;
  const [start, end] = [secondsOf(value['start']), secondsOf(value['end'])];
  if (start === undefined || end === undefined) return undefined;
  const speaker = nameOf(value['speaker']);
  return {
    start,
    end: Math.max(start, end),
    text: value['text'].trim(),
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

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
