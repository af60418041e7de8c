/** The file of a transcription as OpenAI's `json` and `verbose_json`, and as the events of a stream. */
import type { Transcription } from '@darkroom/api/openai/transcription';
import { frameOf } from '../../text/encoder.ts';
import { transcriptOf } from '../../transcripts/transcript.ts';
import type { Transcript, TranscriptSegment } from '../../transcripts/transcript.ts';

/** @param text of a file in our JSON (transcripts/formats.ts). @returns undefined: it is no transcript. */
export function parseTranscript(text: string): Transcript | undefined {
  try {
    return transcriptOf(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** @param task of `verbose_json`; undefined: the response is `json`. */
export function transcriptionOf(
  { text, durationSeconds, language = '', segments = [] }: Transcript,
  task: Transcription['task'],
): Transcription {
  const usage =
    durationSeconds === undefined ? {} : { usage: { type: 'duration', seconds: Math.ceil(durationSeconds) } as const };
  if (task === undefined) return { text, ...usage };
  return {
    task,
    // Of what was written: "always english".
    language: task === 'translate' ? 'english' : language,
    duration: durationSeconds ?? segments.at(-1)?.end ?? 0,
    text,
    segments: segments.map(segmentOf),
    ...usage,
  };
}

/** Clients expect every member; what providers do not report is 0. */
function segmentOf({ start, end, text }: TranscriptSegment, id: number) {
  const unknown = { seek: 0, tokens: [], temperature: 0, avg_logprob: 0, compression_ratio: 0, no_speech_prob: 0 };
  return { id, start, end, text, ...unknown };
}

/** The text in pieces, one for each segment, and then as a whole. */
export async function* transcriptFrames(transcript: Transcript): AsyncGenerator<string> {
  for (const delta of deltasOf(transcript)) yield frameOf({ type: 'transcript.text.delta', delta });
  yield frameOf({ type: 'transcript.text.done', text: transcript.text });
}

/** Together they are the text. From a segment on that does not continue it, the rest is one piece. */
function* deltasOf({ text, segments = [] }: Transcript): Generator<string> {
  let sent = 0;
  for (const segment of segments) {
    if (segment.text === '') continue;
    let begin = sent;
    while (begin < text.length && /\s/.test(text.charAt(begin))) begin += 1;
    if (!text.startsWith(segment.text, begin)) break;
    const end = begin + segment.text.length;
    yield text.slice(sent, end);
    sent = end;
  }
  if (sent < text.length) yield text.slice(sent);
}
