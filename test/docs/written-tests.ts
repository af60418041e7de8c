/** Reads the tests of a source: their names as they are written, and which requirements each proves. */

/** A test as its source writes it. */
export interface WrittenTest {
  /** The preceding `describe`. */
  readonly suite: string;
  /** What a template fills in appears as `…`. */
  readonly name: string;
  /** Numbers of requirements, of the comment above it: `// Proves S2.1-1, C3-4.` */
  readonly proves: readonly string[];
}

const PROVES = /^ *\/\/ Proves ((?:[SC][\d.]+-\d+(?:,\s*(?:\/\/ )?)?)+)\.\n/gm;

/** The tests of a source, in their order: the literals passed to `it`, but not to `it.skip` or `it.todo`. */
export function testsIn(source: string): readonly WrittenTest[] {
  const proofs = new Map(
    [...source.matchAll(PROVES)].map((match) => [
      match.index + match[0].length,
      match[1]?.match(/[SC][\d.]+-\d+/g) ?? [],
    ]),
  );
  const tests: WrittenTest[] = [];
  let suite = '';
  for (const match of source.matchAll(/\b(describe|it)\(\s*(?=['"`])/g)) {
    const { text } = readLiteral(source, match.index + match[0].length);
    const proves = proofs.get(source.lastIndexOf('\n', match.index) + 1) ?? [];
    if (match[1] === 'describe') suite = text;
    else tests.push({ suite, name: text, proves });
  }
  return tests;
}

/** @param at of the opening quote. @returns the text, and the position after the closing quote. */
function readLiteral(source: string, at: number): { readonly text: string; readonly end: number } {
  const quote = source[at];
  let text = '';
  let position = at + 1;
  while (position < source.length && source[position] !== quote) {
    if (source[position] === '\\') {
      text += source[position + 1] ?? '';
      position += 2;
    } else if (quote === '`' && source.startsWith('${', position)) {
      text += '…';
      position = endOfExpression(source, position + 2);
    } else {
      text += source[position];
      position += 1;
    }
  }
  return { text, end: position + 1 };
}

/** @param at after `${`. @returns the position after its `}`, whatever literals are in between. */
function endOfExpression(source: string, at: number): number {
  let depth = 1;
  let position = at;
  while (position < source.length && depth > 0) {
    const character = source[position] ?? '';
    if (`'"\``.includes(character)) {
      position = readLiteral(source, position).end;
      continue;
    }
    if (character === '{') depth += 1;
    if (character === '}') depth -= 1;
    position += 1;
  }
  return position;
}
