/**
 * The files that an upstream produced. Its output may be any JSON, in which they are every http(s) URL and every base64
 * data URL, in order of appearance; of a transcript they are written here.
 */
import { decodeBase64, isBase64DataUrl, parseDataUrl } from '../domain/data-url.ts';
import { formatsOf, renderTranscript } from '../transcripts/formats.ts';
import type { Transcript } from '../transcripts/transcript.ts';
import { isWebAddress } from './json-answer.ts';
import type { ProducedFile } from './provider.ts';

/** Limits of the search for files in a provider's output. */
const MAX_DEPTH = 4;
const MAX_FILES = 100;

/** @returns at most 100 files. */
export function filesIn(output: unknown): readonly ProducedFile[] {
  return search(output, 0).slice(0, MAX_FILES);
}

/** A file from base64; none if it is not base64 to its end, which would be a damaged file, or empty. */
export function filesOfBase64(base64: string): readonly ProducedFile[] {
  return filesOfBytes(decodeBase64(base64));
}

function filesOfBytes(bytes: Buffer | undefined): readonly ProducedFile[] {
  return bytes === undefined || bytes.length === 0 ? [] : [{ from: 'bytes', bytes }];
}

function search(output: unknown, depth: number): readonly ProducedFile[] {
  if (typeof output === 'string') return filesOfText(output);
  if (typeof output !== 'object' || output === null || depth >= MAX_DEPTH) return [];
  return Object.values(output)
    .flatMap((part) => search(part, depth + 1))
    .slice(0, MAX_FILES);
}

/** The file that a string is, if it is an http(s) URL or a base64 data URL. */
export function filesOfText(text: string): readonly ProducedFile[] {
  if (isWebAddress(text)) return [{ from: 'url', url: text }];
  return isBase64DataUrl(text) ? filesOfBytes(parseDataUrl(text)?.bytes) : [];
}

/**
 * The files of a transcript that a provider has reported, in the formats that the input asks for.
 *
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
