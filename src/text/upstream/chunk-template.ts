/**
 * The fast path for the chunks that a stream mostly consists of: each is like the one before it, except for its text.
 * A chunk that was understood is remembered as what comes before and after its text; one that begins and ends with the
 * very same characters, and has one JSON string between them, means the same with another text. Neither the parsing
 * nor the encoding of the frame has to be repeated.
 */
import { formatEncodedEvent } from '../../domain/server-sent-event.ts';
import type { ChoicePart } from './read-answer.ts';

/** Where a chunk may have its text. */
const FIELDS = ['content', 'reasoning_content'] as const;
type Field = (typeof FIELDS)[number];

/** A character that a JSON string has in an escaped form only, or with which it ends. */
// oxlint-disable-next-line no-control-regex -- it must not contain those
const NOT_PLAIN = /["\\\u0000-\u001F]/;

export interface TextChunk {
  readonly field: Field;
  readonly text: string;
  readonly frame: string;
}

export class ChunkTemplate {
  readonly #field: Field;
  readonly #before: string;
  readonly #behind: string;
  readonly #frameBefore: string;
  readonly #frameBehind: string;

  /**
   * @param data a chunk's text. @param string the span of its text in it, quotes included.
   * @param choices the span of its choices. @param head what the data of a frame has before its choices. @param tail
   *   what it has after them.
   */
  constructor(field: Field, data: string, string: Span, choices: Span, head: string, tail: string) {
    this.#field = field;
    this.#before = data.slice(0, string.from + 1);
    this.#behind = data.slice(string.to - 1);
    this.#frameBefore = head + data.slice(choices.from, string.from + 1);
    this.#frameBehind = data.slice(string.to - 1, choices.to) + tail;
  }

  /** @returns undefined: the chunk is different, or is not understood here. */
  match(data: string): TextChunk | undefined {
    const end = data.length - this.#behind.length;
    if (end < this.#before.length || !data.startsWith(this.#before) || !data.endsWith(this.#behind)) return undefined;
    const raw = data.slice(this.#before.length, end);
    const text = NOT_PLAIN.test(raw) ? decode(raw) : raw;
    if (text === undefined) return undefined;
    return { field: this.#field, text, frame: formatEncodedEvent(this.#frameBefore + raw + this.#frameBehind) };
  }
}

function decode(raw: string): string | undefined {
  // A line end is allowed between the members of an object, but not in a frame.
  if (raw.includes('\n')) return undefined;
  try {
    const text: unknown = JSON.parse(`"${raw}"`);
    return typeof text === 'string' ? text : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Remembers a chunk.
 *
 * @param part its only one. @param data its text. @param choices their span in it.
 * @returns undefined: it contains more than a text.
 */
export function templateOf(
  part: ChoicePart,
  data: string,
  choices: Span,
  head: string,
  tail: string,
): ChunkTemplate | undefined {
  if (part.isIrregular || part.finish !== undefined || part.refusal !== '' || part.toolCalls.length > 0)
    return undefined;
  const [field, ...more] = FIELDS.filter((name) => typeof part.content[name] === 'string');
  if (field === undefined || more.length > 0) return undefined;
  if (part.logprobs !== undefined) return undefined;
  const string = spanIn(data, choices, field);
  if (string === undefined || data.slice(choices.from, choices.to).includes('\n')) return undefined;
  return new ChunkTemplate(field, data, string, choices, head, tail);
}

/** The string in `"choices":[{…,"delta":{…,"content":"…"}}]`. */
function spanIn(data: string, choices: Span, field: Field): Span | undefined {
  const choiceAt = data.indexOf('{', choices.from);
  const delta = memberAt(data, choiceAt, choices.to, 'delta');
  return delta === undefined ? undefined : memberAt(data, delta.from, delta.to, field);
}

function memberAt(data: string, from: number, to: number, name: string): Span | undefined {
  const span = findMember(data.slice(from, to), name);
  return span === undefined ? undefined : { from: from + span.from, to: from + span.to };
}

/** Where a value begins, and where it has ended. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

const QUOTE = 34;
const BACKSLASH = 92;

/**
 * Where the value of a member of the outermost object is in its text, so that it can be copied unchanged; if several
 * have the same name, the last, as with `JSON.parse`. Invalid JSON is not detected here.
 *
 * @param json a valid JSON object, in any spacing.
 */
export function findMember(json: string, name: string): Span | undefined {
  const plain = `"${name}"`;
  let found: Span | undefined;
  let at = skipBlanks(json, skipBlanks(json, 0) + 1);
  while (json.charCodeAt(at) === QUOTE) {
    const keyEnd = endOfString(json, at);
    const isIt = isKey(json, at, keyEnd, plain, name);
    const from = skipBlanks(json, skipBlanks(json, keyEnd) + 1);
    const to = endOfValue(json, from);
    if (isIt) found = { from, to };
    at = skipBlanks(json, skipBlanks(json, to) + 1);
  }
  return found;
}

/** A key may be written with escapes. */
function isKey(json: string, from: number, to: number, plain: string, name: string): boolean {
  if (to - from === plain.length) return json.startsWith(plain, from);
  const key = json.slice(from, to);
  return key.includes('\\') && JSON.parse(key) === name;
}

function skipBlanks(json: string, from: number): number {
  let at = from;
  for (;;) {
    const code = json.charCodeAt(at);
    if (code !== 32 && code !== 10 && code !== 13 && code !== 9) return at;
    at += 1;
  }
}

/** @param from the position of its opening quote. @returns the position after its closing one. */
function endOfString(json: string, from: number): number {
  let quote = json.indexOf('"', from + 1);
  while (quote !== -1 && isEscaped(json, quote)) quote = json.indexOf('"', quote + 1);
  return quote === -1 ? json.length : quote + 1;
}

function isEscaped(json: string, quote: number): boolean {
  let at = quote - 1;
  while (json.charCodeAt(at) === BACKSLASH) at -= 1;
  return (quote - 1 - at) % 2 === 1;
}

function endOfValue(json: string, from: number): number {
  let depth = 0;
  let at = from;
  while (at < json.length) {
    switch (json.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(json, at);
        if (depth === 0) return at;
        continue;
      case 91: // [
      case 123: // {
        depth += 1;
        break;
      case 93: // ]
      case 125: // }
        if (depth === 0) return at;
        depth -= 1;
        if (depth === 0) return at + 1;
        break;
      case 44: // ,
      case 32:
      case 10:
      case 13:
      case 9:
        if (depth === 0) return at;
        break;
      default:
    }
    at += 1;
  }
  return at;
}
