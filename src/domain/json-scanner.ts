/**
 * Scans JSON as it arrives, before anything is parsed: how deep it is nested, and how many members, elements and
 * values it has (contract §1). Parsing takes as long as there are values, and blocks everything else in the meantime;
 * a body that has too many is rejected at the byte where that shows. It does not check whether the text is JSON. Used
 * for client requests and for upstream responses.
 */
export interface JsonBounds {
  /** Contract §1: "JSON deeper than 32 levels is refused before it is parsed". */
  readonly depth: number;
  readonly membersPerObject: number;
  readonly elementsPerArray: number;
  /** Objects, arrays, strings, numbers and words, all together. */
  readonly values: number;
  /** The maximum total length of member names, in bytes as written. */
  readonly nameBytes: number;
}

/**
 * The limits for requests of clients: several times the size of the largest ones, such as ten thousand messages or
 * schemas of five thousand members.
 */
export const JSON_BOUNDS: JsonBounds = {
  depth: 32,
  membersPerObject: 10_000,
  elementsPerArray: 25_000,
  values: 50_000,
  // The engine interns each name: making objects takes longer with every byte of names that it has not seen.
  nameBytes: 1_000_000,
};

/** The limits for upstream responses, whose lists of models and chunks are longer than those of clients. */
export const UPSTREAM_JSON_BOUNDS: JsonBounds = {
  depth: 64,
  membersPerObject: 50_000,
  elementsPerArray: 200_000,
  values: 400_000,
  nameBytes: Infinity,
};

/** JSON is deeper or has more parts than is parsed; the message names the bound. */
export class JsonBoundsError extends Error {
  override readonly name = 'JsonBoundsError';
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;

export interface JsonScanner {
  /** The next bytes. @throws {JsonBoundsError} a bound is exceeded. */
  push(bytes: Uint8Array): void;
  /** How many there have been so far. */
  readonly values: number;
}

export function createJsonScanner(bounds: JsonBounds = JSON_BOUNDS): JsonScanner {
  /** Of each level that is open: whether it is an object, and how many commas it has. */
  const isObject: boolean[] = [];
  const commas: number[] = [];
  let depth = 0;
  let values = 1;
  let isInText = false;
  let isEscaped = false;
  /** Of the latest string, which is a name if a colon follows. */
  let textBytes = 0;
  let nameBytes = 0;

  const count = (): void => {
    values += 1;
    if (values > bounds.values) throw new JsonBoundsError(`JSON has more than ${bounds.values} values`);
  };
  const open = (isOfMembers: boolean): void => {
    if (depth >= bounds.depth) {
      throw new JsonBoundsError(`JSON is nested deeper than ${bounds.depth} levels`);
    }
    depth += 1;
    isObject[depth] = isOfMembers;
    commas[depth] = 0;
    count();
  };
  const separate = (): void => {
    const inside = (commas[depth] ?? 0) + 1;
    commas[depth] = inside;
    count();
    if (isObject[depth] === true && inside >= bounds.membersPerObject) {
      throw new JsonBoundsError(`JSON has an object of more than ${bounds.membersPerObject} members`);
    }
    if (inside >= bounds.elementsPerArray) {
      throw new JsonBoundsError(`JSON has an array of more than ${bounds.elementsPerArray} elements`);
    }
  };

  const nameText = (): void => {
    nameBytes += textBytes;
    if (nameBytes > bounds.nameBytes) {
      throw new JsonBoundsError(`JSON has more than ${bounds.nameBytes} bytes of member names`);
    }
  };

  return {
    get values() {
      return values;
    },
    push(bytes) {
      // Local, because this runs for every incoming byte. Strings are skipped: most bytes are in one.
      let inside = isInText;
      let escaped = isEscaped;
      let quoteAt = -1;
      let backslashAt = -1;
      let textAt = 0;
      const { length } = bytes;
      const find = (byte: number, from: number): number => {
        const at = bytes.indexOf(byte, from);
        return at === -1 ? length : at;
      };
      for (let at = 0; at < length; at++) {
        if (inside) {
          if (escaped) {
            escaped = false;
            continue;
          }
          if (quoteAt < at) quoteAt = find(QUOTE, at);
          if (backslashAt < at) backslashAt = find(BACKSLASH, at);
          at = Math.min(quoteAt, backslashAt);
          escaped = backslashAt < quoteAt;
          inside = escaped || at === length;
          if (!inside) textBytes += at - textAt;
          continue;
        }
        const byte = bytes[at];
        if (byte === QUOTE) {
          inside = true;
          textBytes = 0;
          textAt = at + 1;
        } else if (byte === COMMA) separate();
        else if (byte === COLON) nameText();
        else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) open(byte === OPEN_OBJECT);
        else if ((byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) && depth > 0) depth -= 1;
      }
      if (inside) textBytes += length - textAt;
      isInText = inside;
      isEscaped = escaped;
    },
  };
}
