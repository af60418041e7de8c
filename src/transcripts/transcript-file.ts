/** Checks the file of a transcript before it is served, because another service may have written it. */
import { isUtf8 } from 'node:buffer';
import type { TranscriptFormat } from './formats.ts';

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

/** Whether the bytes of a file are UTF-8 text that begins as the format does. */
export function isTranscript(bytes: Uint8Array, format: TranscriptFormat): boolean {
  if (bytes.length > MAX_TRANSCRIPT_BYTES || bytes.includes(0) || !isUtf8(bytes)) return false;
  try {
    const beginning = bytes.subarray(0, BEGINNING_BYTES);
    return BEGINNINGS[format].test(new TextDecoder('utf-8', { fatal: true }).decode(beginning, { stream: true }));
  } catch {
    return false;
  }
}
