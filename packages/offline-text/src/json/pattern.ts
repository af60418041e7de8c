/**
 * A text that a regular expression matches, generated from the expression itself, for the `pattern` of a schema. The
 * expression is never run: an untrusted one can take forever. Look-arounds, back-references and word boundaries are
 * not supported.
 */
import type { Random } from '@darkroom/seeded-random/random';

type Node =
  | { readonly kind: 'one'; readonly of: readonly string[] }
  | { readonly kind: 'all'; readonly nodes: readonly Node[] }
  | { readonly kind: 'either'; readonly nodes: readonly Node[] }
  | { readonly kind: 'repeat'; readonly node: Node; readonly least: number; readonly most: number };

const MAX_PATTERN = 2000;
const MAX_DEPTH = 50;
const MAX_TEXT = 65_536;
/** Nodes that are visited for one text: repetitions of repetitions may be many. */
const MAX_STEPS = 200_000;
/** The same for all texts of one value, so that many expressions do not take longer than a few. */
const MAX_STEPS_TOGETHER = 1_000_000;
const LETTERS = [...'abcdefghijklmnopqrstuvwxyz'];
const DIGITS = [...'0123456789'];
const OTHERS = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ_-. !#$%&()*+,/:;<=>?@[]^{|}~\'"'];
const PRINTABLE = [...LETTERS, ...DIGITS, ...OTHERS];
const WORD = [...LETTERS, ...DIGITS, '_'];
const CLASSES: Readonly<Record<string, readonly string[]>> = {
  d: DIGITS,
  w: WORD,
  s: [' '],
  D: LETTERS,
  W: [' ', '-'],
  S: WORD,
  t: ['\t'],
  n: ['\n'],
  r: ['\r'],
  f: ['\f'],
  v: ['\v'],
};
/** How often an unbounded repetition is repeated: the first count that gives the required length is used. */
const REPEATS = [1, 0, 2, 3, 4, 6, 8, 12, 16, 32, 64, 128, 256, 1024, 4096];

class NotUnderstood extends Error {
  override readonly name = 'NotUnderstood';
}

/** The steps that the expressions of one value may still take together. */
export class PatternSteps {
  #left = MAX_STEPS_TOGETHER;

  /** @throws {NotUnderstood} none are left. */
  take(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new NotUnderstood();
  }
}

/**
 * @param least characters, and @param most: the bounds of its length.
 * @param together the steps shared with the other texts of the same value.
 * @returns undefined: the expression is not supported, or has no such match.
 */
export function textFor(
  pattern: string,
  least: number,
  most: number,
  random: Random,
  together = new PatternSteps(),
): string | undefined {
  if (pattern.length > MAX_PATTERN) return undefined;
  try {
    // Parsing it takes some steps for each character: a range in a class is up to 128.
    together.take(pattern.length * 16);
    const node = new Reader(pattern).read();
    const maker = new Maker(random, together);
    for (const repeats of REPEATS) {
      const made = maker.make(node, repeats, Math.min(most, MAX_TEXT) + 1);
      const { length } = [...made];
      if (length >= least && length <= most) return made;
    }
  } catch (error) {
    if (!(error instanceof NotUnderstood)) throw error;
  }
  return undefined;
}

class Maker {
  readonly #random: Random;
  readonly #together: PatternSteps;
  #steps = MAX_STEPS;

  constructor(random: Random, together: PatternSteps) {
    this.#random = random;
    this.#together = together;
  }

  /** @param room characters; a text ends soon after them. */
  make(node: Node, repeats: number, room: number): string {
    this.#together.take(1);
    this.#steps -= 1;
    if (this.#steps < 0) throw new NotUnderstood();
    switch (node.kind) {
      case 'one':
        return node.of[this.#random.integer(0, node.of.length - 1)] ?? '';
      case 'either':
        return this.make(node.nodes[this.#random.integer(0, node.nodes.length - 1)] ?? node, repeats, room);
      case 'all':
        return this.#join(node.nodes, repeats, room);
      case 'repeat': {
        const times = Math.min(Math.max(repeats, node.least), node.most, room);
        return this.#join(Array<Node>(times).fill(node.node), repeats, room);
      }
    }
  }

  #join(nodes: readonly Node[], repeats: number, room: number): string {
    let text = '';
    for (const node of nodes) {
      if (text.length > room) break;
      text += this.make(node, repeats, room - text.length);
    }
    return text;
  }
}

/** Parses an expression into nodes. */
class Reader {
  readonly #characters: readonly string[];
  #index = 0;
  #depth = 0;

  constructor(pattern: string) {
    this.#characters = [...pattern];
  }

  read(): Node {
    const node = this.#either();
    if (this.#index < this.#characters.length) throw new NotUnderstood();
    return node;
  }

  #take(): string {
    const character = this.#characters[this.#index++];
    if (character === undefined) throw new NotUnderstood();
    return character;
  }

  #skip(text: string): boolean {
    if (this.#characters.slice(this.#index, this.#index + text.length).join('') !== text) return false;
    this.#index += text.length;
    return true;
  }

  #either(): Node {
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw new NotUnderstood();
    const nodes = [this.#sequence()];
    while (this.#skip('|')) nodes.push(this.#sequence());
    this.#depth -= 1;
    return { kind: 'either', nodes };
  }

  #sequence(): Node {
    const nodes: Node[] = [];
    for (;;) {
      const next = this.#characters[this.#index];
      if (next === undefined || next === '|' || next === ')') return { kind: 'all', nodes };
      const isFirst = nodes.length === 0;
      if (this.#skip('^')) {
        if (!isFirst) throw new NotUnderstood();
      } else if (this.#skip('$')) {
        if (![undefined, '|', ')'].includes(this.#characters[this.#index])) throw new NotUnderstood();
      } else nodes.push(this.#repeated(this.#atom()));
    }
  }

  #repeated(node: Node): Node {
    const [least, most] = this.#bounds();
    this.#skip('?');
    return least === 1 && most === 1 ? node : { kind: 'repeat', node, least, most };
  }

  #bounds(): readonly [number, number] {
    if (this.#skip('*')) return [0, Infinity];
    if (this.#skip('+')) return [1, Infinity];
    if (this.#skip('?')) return [0, 1];
    const braces = /^\{(\d{1,6})(?:(,)(\d{1,6})?)?\}/.exec(
      this.#characters.slice(this.#index, this.#index + 16).join(''),
    );
    if (braces === null) return [1, 1];
    this.#index += braces[0].length;
    const least = Number(braces[1]);
    return [least, braces[2] === undefined ? least : Number(braces[3] ?? Infinity)];
  }

  #atom(): Node {
    const character = this.#take();
    if (character === '.') return { kind: 'one', of: LETTERS };
    if (character === '[') return this.#class();
    if (character === '\\') return { kind: 'one', of: this.#escaped() };
    if (character !== '(') return { kind: 'one', of: [character] };
    if (this.#skip('?')) {
      const name = /^<[A-Za-z_]\w{0,40}>|^:/.exec(this.#characters.slice(this.#index, this.#index + 44).join(''))?.[0];
      if (name === undefined) throw new NotUnderstood();
      this.#index += name.length;
    }
    const node = this.#either();
    if (!this.#skip(')')) throw new NotUnderstood();
    return node;
  }

  #escaped(): readonly string[] {
    const letter = this.#take();
    const known = CLASSES[letter];
    if (known !== undefined) return known;
    const code = { x: /^[\da-f]{2}/i, u: /^[\da-f]{4}/i }[letter]?.exec(
      this.#characters.slice(this.#index, this.#index + 4).join(''),
    )?.[0];
    if (code !== undefined) {
      this.#index += code.length;
      return [String.fromCodePoint(Number.parseInt(code, 16))];
    }
    if (letter === 'p') {
      const property = /^\{(L|Ll|Lu|N|Nd|Letter)\}/.exec(this.#characters.slice(this.#index, this.#index + 8).join(''));
      if (property === null) throw new NotUnderstood();
      this.#index += property[0].length;
      return property[1]?.startsWith('N') === true ? DIGITS : property[1] === 'Lu' ? ['A', 'B', 'C'] : LETTERS;
    }
    if (/[A-Za-z0-9]/.test(letter)) throw new NotUnderstood();
    return [letter];
  }

  #class(): Node {
    const isNegated = this.#skip('^');
    const members: string[] = [];
    while (!this.#skip(']')) {
      const low = this.#member();
      const isRange =
        low.length === 1 && this.#characters[this.#index] === '-' && this.#characters[this.#index + 1] !== ']';
      if (!isRange) {
        members.push(...low);
        continue;
      }
      this.#skip('-');
      const [from, to] = [low[0], this.#member()[0]].map((character) => character?.codePointAt(0) ?? 0);
      const length = Math.min((to ?? 0) - (from ?? 0) + 1, 128);
      members.push(...Array.from({ length }, (_, away) => String.fromCodePoint((from ?? 0) + away)));
    }
    const of = isNegated ? PRINTABLE.filter((character) => !members.includes(character)) : members;
    if (of.length === 0) throw new NotUnderstood();
    return { kind: 'one', of };
  }

  #member(): readonly string[] {
    const character = this.#take();
    return character === '\\' ? this.#escaped() : [character];
  }
}
