/**
 * Where a member of a JSON object is in its text, so that it can be copied unchanged, without being encoded again.
 * Only for text that has been parsed: invalid JSON is not detected here.
 */

/** Where a value begins, and where it has ended. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

const QUOTE = 34;
const BACKSLASH = 92;

/**
 * The value of a member of the outermost object; if several have the same name, the last, as with `JSON.parse`.
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
