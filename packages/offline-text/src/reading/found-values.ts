/**
 * Values in a prompt for the members of a JSON object: by the member's name ("path notes.md"), by what the schema
 * allows (one of an enum's words, a number in its bounds, an address of the format), or by what such members usually
 * hold (a city follows "in", a name begins with a capital). A number or a name is used once.
 */
import type { JsonSchema } from '../request.ts';
import { formatPattern } from '../json/formats.ts';
import { isAllowedNumber } from '../json/numbers.ts';
import { findRequestedText, isFreeText, prepositionsFor } from './member-kinds.ts';
import { escapePattern, excerptOf, numberFrom, wordsOf, wordsOfName } from './words.ts';
import { properNames } from './proper-names.ts';
import type { ProperName } from './proper-names.ts';

const NEGATION = /\b(?:not|no|without|never|don['’]t|isn['’]t|disable[ds]?|off)\b[^.,;\n]{0,20}$/i;
const NUMBERS =
  /(?<![\p{L}\p{N}.])-?\d[\d,]{0,15}(?:\.\d{1,10})?(?![\p{L}\d])|\b(?:two|three|four|five|six|seven|eight|nine|ten)\b/giu;
const QUOTED = /"([^"\n]{1,400})"|“([^”\n]{1,400})”|`([^`\n]{1,400})`/gu;
/** What counts as a value without quotes: a file, an address, a version, a name. */
const EVIDENT = /^(?:\S*[./\\_@#\d]\S*|\p{Lu}\S*(?: \p{Lu}\S*){0,3})/u;

export class FoundValues {
  readonly #whole: string;
  readonly #earlier: string;
  readonly #text: string;
  readonly #names: readonly ProperName[];
  readonly #used = new Set<string>();

  /** @param text where values are searched. @param earlier where only values preceded by their names are. */
  constructor(text: string, earlier = '') {
    this.#whole = text;
    this.#text = excerptOf(text);
    this.#earlier = excerptOf(earlier);
    this.#names = properNames(this.#text);
  }

  string(name: string, schema: JsonSchema): string | undefined {
    const { format } = schema;
    if (typeof format === 'string') return this.#take(formatPattern(format)?.exec(this.#text)?.[0]);
    const namedValue = this.#namedValue(name, this.#text);
    if (namedValue !== undefined) return namedValue;
    if (isFreeText(name)) return this.#quoted() ?? findRequestedText(name, this.#text);
    return this.#properName(name) ?? this.#quoted() ?? this.#namedValue(name, this.#earlier);
  }

  number(name: string, schema: JsonSchema, isInteger: boolean): number | undefined {
    const fits = (text: string | undefined): boolean => {
      const value = text === undefined ? undefined : numberFrom(text);
      return value !== undefined && isAllowedNumber(value, schema, isInteger);
    };
    const pattern = patternOf(name);
    const named = new RegExp(
      String.raw`${pattern}["']?\s?(?:is|=|:|of|to)?\s?(-?\d[\d,]{0,15}(?:\.\d{1,10})?)`,
      'iu',
    ).exec(this.#text)?.[1];
    const all = [...this.#text.matchAll(NUMBERS)];
    const unit = name === 'age' ? /^[- ]?years?\b/i : new RegExp(String.raw`^[- ](?:\p{L}+ )?${pattern}`, 'iu');
    const before = all.find((match) => unit.test(this.#text.slice(match.index + match[0].length)));
    const free = all.find(({ 0: text, index }) => fits(text) && !this.#used.has(`${text}@${index}`));
    if (fits(named)) return numberFrom(named ?? '');
    const chosen = fits(before?.[0]) ? before : free;
    if (chosen === undefined) return undefined;
    this.#used.add(`${chosen[0]}@${chosen.index}`);
    return numberFrom(chosen[0]);
  }

  /** True if the prompt has one of the name's words, false if it negates it. */
  boolean(name: string): boolean | undefined {
    for (const word of wordsOfName(name).filter((word) => !/^(?:is|has|should|include|use|with|are|do)$/.test(word))) {
      const match = new RegExp(
        String.raw`(?<![\p{L}\p{N}])${escapePattern(word.replace(/(?<=..)(?:s|d|ed)$/, ''))}`,
        'iu',
      ).exec(this.#text);
      if (match !== null) return !NEGATION.test(this.#text.slice(Math.max(0, match.index - 40), match.index));
    }
    return undefined;
  }

  /** The enum member that the prompt contains, the longest first. */
  oneOf(members: readonly unknown[]): unknown {
    const lower = this.#text.toLowerCase();
    const texts = members.filter((member) => typeof member === 'string' && member !== '').map(String);
    return texts
      .filter((text) => lower.includes(text.toLowerCase()))
      .toSorted((left, right) => right.length - left.length)
      .slice(0, 100)
      .find((text) =>
        new RegExp(String.raw`(?<![\p{L}\p{N}])${escapePattern(text)}(?![\p{L}\p{N}])`, 'iu').test(this.#text),
      );
  }

  /** Several values of a member: "tags: a, b and c", or names in a row. */
  list(name: string): readonly string[] {
    const listed = new RegExp(String.raw`${patternOf(name)}["']?\s?(?:are|is|=|:)\s?([^.\n]{1,400})`, 'iu').exec(
      this.#text,
    )?.[1];
    if (listed !== undefined)
      return listed
        .split(/,\s*(?:and )?| and /)
        .map((text) => text.trim())
        .filter((text) => text !== '');
    return this.inRow(name);
  }

  /** Names in a row that fit a member: `Paris, London and Rome`. Fewer than two: there is no row. */
  inRow(name: string): readonly string[] {
    const candidates = this.#fitting(name);
    const first = candidates.find(({ row }) => candidates.filter((other) => other.row === row).length > 1);
    return first === undefined ? [] : candidates.filter(({ row }) => row === first.row).map(({ text }) => text);
  }

  /** Numbers in a row. */
  numbers(): readonly number[] {
    return [...this.#text.matchAll(NUMBERS)].map(([text]) => numberFrom(text)).filter((value) => value !== undefined);
  }

  #fitting(name: string): readonly ProperName[] {
    const prepositions = prepositionsFor(name);
    const placed = this.#names.filter(({ after }) => prepositions.includes(after));
    return placed.length > 0 ? placed : this.#names;
  }

  #properName(name: string): string | undefined {
    const found = this.#take(this.#fitting(name).find(({ text }) => !this.#used.has(text))?.text);
    if (found !== undefined || prepositionsFor(name).length === 0) return found;
    // "weather in paris"
    const pattern = new RegExp(
      String.raw`\b(?:${prepositionsFor(name).join('|')}) (?!the\b|a\b|an\b|my\b)([\p{L}'’-]{2,40})`,
      'iu',
    );
    return pattern.exec(this.#text)?.[1];
  }

  #quoted(): string | undefined {
    for (const match of this.#text.matchAll(QUOTED)) {
      const text = match[1] ?? match[2] ?? match[3] ?? '';
      if (!this.#used.has(text)) return this.#take(text);
    }
    return undefined;
  }

  /** The text that follows the member's name. */
  #namedValue(name: string, text: string): string | undefined {
    const match = namedPattern(name).exec(text);
    if (match === null) return undefined;
    const [whole, exactly, separator] = match;
    const at = match.index + whole.length;
    const rest = this.#whole.startsWith(text.slice(0, at)) ? this.#whole.slice(at) : text.slice(at);
    const quoted = /^(?:"([^"]*)"|“([^”]*)”|`([^`]*)`)/u.exec(rest);
    if (quoted !== null) return this.#take(quoted[1] ?? quoted[2] ?? quoted[3]);
    if (exactly !== undefined || (separator !== undefined && whole.endsWith('\n'))) return rest;
    if (separator !== undefined) return this.#take(clause(rest));
    return this.#take(withoutEnd(EVIDENT.exec(rest.slice(0, 400))?.[0]));
  }

  #take(text: string | undefined): string | undefined {
    if (text === undefined || text === '') return undefined;
    this.#used.add(text);
    return text;
  }
}

/** A member's name as it appears in a text: `party_size`, `party size`. */
function patternOf(name: string): string {
  const words = wordsOfName(name.slice(0, 64)).map(escapePattern);
  return String.raw`(?<![\p{L}\p{N}])${words.join(String.raw`[\s_-]?`) || escapePattern(name.slice(0, 64))}`;
}

/** The name, perhaps "exactly" and a colon, and the blank before the value. */
function namedPattern(name: string): RegExp {
  const link = '(?: (?:is|are|set to|of|named|called|should be)\\b)?';
  return new RegExp(
    String.raw`${patternOf(name)}["'\x60]?(?!\p{L})${link}( exactly)?( ?[:=])?(?:[ \t]{0,3}\n|[ \t]{1,3}|(?=["“\x60]))`,
    'iu',
  );
}

function clause(text: string): string | undefined {
  return withoutEnd(/^[^,;\n]{1,400}/.exec(text)?.[0]?.split(/ and (?=\w+ ?[:=])|\. |[.)}]$/, 1)[0]);
}

function withoutEnd(text: string | undefined): string | undefined {
  const bare = text?.trim().replace(/[.,;:!?]{1,3}$/, '');
  return bare === undefined || wordsOf(bare).length === 0 ? undefined : bare;
}
