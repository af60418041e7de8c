/** The file of a transcription as OpenAI's `json` and `verbose_json`. */
import type { Transcription } from '@darkroom/api/openai/transcription';
import { transcriptOf } from '../../transcripts/transcript.ts';
import type { TranscriptSegment } from '../../transcripts/transcript.ts';

/** @param text a transcript in our JSON (transcripts/formats.ts). @returns undefined: it is none. */
export function transcriptionOf(text: string, isVerbose: boolean): Transcription | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return undefined;
  }
  const transcript = transcriptOf(parsed);
  if (transcript === undefined) return undefined;
  const { durationSeconds, language = '', segments = [] } = transcript;
  const usage =
    durationSeconds === undefined ? {} : { usage: { type: 'duration', seconds: Math.ceil(durationSeconds) } as const };
  if (!isVerbose) return { text: transcript.text, ...usage };
  return {
    task: 'transcribe',
    language,
    duration: durationSeconds ?? segments.at(-1)?.end ?? 0,
    text: transcript.text,
    segments: segments.map(segmentOf),
    ...usage,
  };
}

/** Clients expect every member; what providers do not report is 0. */
function segmentOf({ start, end, text }: TranscriptSegment, id: number) {
  const unknown = { seek: 0, tokens: [], temperature: 0, avg_logprob: 0, compression_ratio: 0, no_speech_prob: 0 };
  return { id, start, end, text, ...unknown };
}
