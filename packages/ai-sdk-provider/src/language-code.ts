/** OpenAI's transcripts call a language by its English name; the AI SDK wants its code of two letters. */

const LETTERS = 'abcdefghijklmnopqrstuvwxyz';

let codes: ReadonlyMap<string, string> | undefined;

/** @returns undefined: it is not a language that is known here. */
export function languageCode(language: string | undefined): string | undefined {
  if (language === undefined || language.length === 2) return language;
  codes ??= readCodes();
  return codes.get(language.toLowerCase());
}

/** Every code of two letters that the platform has a name for. */
function readCodes(): ReadonlyMap<string, string> {
  const names = new Intl.DisplayNames(['en'], { type: 'language', fallback: 'none' });
  const found = new Map<string, string>();
  for (const first of LETTERS) {
    for (const second of LETTERS) {
      const name = names.of(first + second)?.toLowerCase();
      if (name !== undefined && !found.has(name)) found.set(name, first + second);
    }
  }
  return found;
}
