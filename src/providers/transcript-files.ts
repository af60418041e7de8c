/** The files of a transcript that a provider has reported, in the formats that the input asks for. */
import { formatsOf, renderTranscript } from '../transcripts/formats.ts';
import type { Transcript } from '../transcripts/transcript.ts';
import type { ProducedFile } from './provider.ts';

/**
 * @returns one file for each format, so that its position says which it is; an empty one, which is not delivered, if
 *   the format needs times and the transcript has none. Nothing if that is so of all.
 */
export function filesOfTranscript(
  transcript: Transcript,
  input: Readonly<Record<string, unknown>>,
): readonly ProducedFile[] {
  const texts = formatsOf(input).map((format) => renderTranscript(transcript, format));
  if (texts.every((text) => text === undefined)) return [];
  return texts.map((text = '') => ({ from: 'bytes', bytes: Buffer.from(text, 'utf8') }));
}
