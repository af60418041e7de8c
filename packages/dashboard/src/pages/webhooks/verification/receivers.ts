/**
 * Receivers that verify callbacks, as source text: the files in this directory, which test/web/verification.test.ts and
 * test/wide/verification.test.ts run. Their header names have the default prefix.
 */
import go from './receiver.go?raw';
import javascript from './receiver.js?raw';
import php from './receiver.php?raw';
import python from './receiver.py?raw';

export const LANGUAGES = ['javascript', 'python', 'go', 'php'] as const;
type Language = (typeof LANGUAGES)[number];

const DEFAULT_PREFIX = 'X-Darkroom';
const SOURCES: Readonly<Record<Language, string>> = { javascript, python, go, php };

/** @param prefix of the names of the signature headers here. */
export function receiverIn(language: Language, prefix: string): string {
  return SOURCES[language].trimEnd().replaceAll(DEFAULT_PREFIX, prefix);
}
