/**
 * The tokens that the offline text model emits: OpenAI's `o200k_base`, one by one and with their bytes. A token may
 * hold a part of a character, so texts are emitted in pieces of whole characters.
 */

/** Characters that are tokenized together: the tokenizer's time grows with the square of a run's length. */
const WINDOW = 8192;
const LONG_RUN = /\S{97}|\s{97}/;
const PIECES = /\S{1,96}|\s{1,96}/gu;

interface Vocabulary {
  readonly encode: (text: string) => Iterable<readonly number[]>;
  /** By token: its text, or its bytes if they are not text. */
  readonly values: readonly (string | readonly number[])[];
}

let loaded: Vocabulary | undefined;

/** Loads the vocabulary, once; before that there are no tokens. */
export async function loadVocabulary(): Promise<void> {
  if (loaded !== undefined) return;
  const [{ encodeGenerator }, { default: values }] = await Promise.all([
    import('gpt-tokenizer/encoding/o200k_base'),
    import('gpt-tokenizer/bpeRanks/o200k_base'),
  ]);
  // Text that looks like a control token is ordinary text here.
  loaded = { encode: (text) => encodeGenerator(text, { disallowedSpecial: new Set() }), values };
}

function vocabulary(): Vocabulary {
  if (loaded === undefined) throw new Error('the vocabulary is not loaded');
  return loaded;
}

/** The tokens of a text, computed on demand. */
export function* tokensOf(text: string): Generator<number> {
  const { encode } = vocabulary();
  for (const window of windowsOf(text)) {
    const pieces = LONG_RUN.test(window) ? window.match(PIECES) : [window];
    for (const piece of pieces ?? []) for (const tokens of encode(piece)) yield* tokens;
  }
}

/** Pieces that end before a blank if they can, so that hardly any token is cut. */
function* windowsOf(text: string): Generator<string> {
  for (let from = 0; from < text.length;) {
    const most = from + WINDOW;
    const blank = most < text.length ? text.lastIndexOf(' ', most) : text.length;
    let end = blank > from ? blank : most;
    // Not between the halves of a character.
    if (/[\uD800-\uDBFF]/.test(text.charAt(end - 1))) end += 1;
    yield text.slice(from, end);
    from = end;
  }
}

export function bytesOf(token: number): readonly number[] {
  const value = vocabulary().values[token] ?? '';
  return typeof value === 'string' ? [...Buffer.from(value)] : value;
}

/** A token as it is displayed: its text, or its bytes as `\xf0\x9f` if they are not text. */
export function shownToken(token: number): string {
  const value = vocabulary().values[token] ?? '';
  if (typeof value === 'string') return value;
  return value.map((byte) => String.raw`\x${byte.toString(16).padStart(2, '0')}`).join('');
}

/** Common tokens that are text by themselves, for alternatives. */
export function commonToken(position: number): number {
  const { values } = vocabulary();
  // Bytes come first; of the first twenty thousand most are whole words.
  let token = 256 + (position % 20_000);
  while (typeof values[token] !== 'string') token += 1;
  return token;
}

/** How many tokens may still be emitted. Reasoning and answer share one budget (contract §9). */
export class TokenBudget {
  #left: number;
  #spent = 0;
  #isShort = false;

  constructor(tokens: number) {
    this.#left = tokens;
  }

  get spent(): number {
    return this.#spent;
  }

  /** Whether there was more to emit. */
  get isShort(): boolean {
    return this.#isShort;
  }

  take(tokens: number): boolean {
    if (tokens > this.#left || this.#isShort) {
      this.#isShort = true;
      return false;
    }
    this.#left -= tokens;
    this.#spent += tokens;
    return true;
  }
}

/** A piece of a text: whole characters, and their tokens. */
export interface Piece {
  readonly text: string;
  readonly tokens: readonly number[];
}

/** A text in the smallest possible pieces, as far as the budget reaches. */
export function* piecesOf(text: string, budget: TokenBudget): Generator<Piece> {
  let tokens: number[] = [];
  let bytes: number[] = [];
  for (const token of tokensOf(text)) {
    tokens.push(token);
    bytes.push(...bytesOf(token));
    if (!endsWithWholeCharacter(bytes)) continue;
    if (!budget.take(tokens.length)) return;
    yield { text: Buffer.from(bytes).toString(), tokens };
    [tokens, bytes] = [[], []];
  }
}

/** Whether UTF-8 ends with a whole character. */
function endsWithWholeCharacter(bytes: readonly number[]): boolean {
  const from = bytes.findLastIndex((byte) => (byte & 0xc0) !== 0x80);
  const lead = bytes[from] ?? 0;
  const length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  return from >= 0 && bytes.length - from >= length;
}
