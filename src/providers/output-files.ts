/**
 * The files in an upstream's output, which may be any JSON: every http(s) URL and every base64 data URL, in order of
 * appearance.
 */
import { decodeBase64, isBase64DataUrl, parseDataUrl } from '../domain/data-url.ts';
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
