/**
 * Reading docs/coverage.md: its rows, and what each says of how it is proven. Apart from the test, which judges them, so
 * that the reading itself can be tested with pages that are wrong.
 */

/** What a row rests on. */
export type Proof =
  | { readonly kind: 'test'; readonly file: string; readonly suite: string | undefined; readonly name: string }
  /** It is promised, and not there. */
  | { readonly kind: 'missing' }
  /** Nothing that can be read. */
  | { readonly kind: 'unreadable'; readonly text: string };

export interface CoverageRow {
  /** `§3 expireAt`. */
  readonly clause: string;
  readonly promise: string;
  readonly proofs: readonly Proof[];
}

export interface CoverageSection {
  /** As its heading says. */
  readonly title: string;
  readonly rows: readonly CoverageRow[];
}

/** Between the file of a test, its suite where that is named, and its name. */
const SEPARATOR = ' › ';

/**
 * Reads the page: one section for each heading of the second level, with the rows of all tables below it. A row that
 * names no clause continues the one above it.
 */
export function readSections(page: string): readonly CoverageSection[] {
  const sections: { title: string; rows: { clause: string; promise: string; proofs: Proof[] }[] }[] = [];
  for (const line of page.split('\n')) {
    const title = /^## (.+)$/.exec(line)?.[1];
    if (title !== undefined) sections.push({ title, rows: [] });
    const cells = cellsOf(line);
    const rows = sections.at(-1)?.rows;
    if (cells === undefined || rows === undefined || isHeading(cells)) continue;
    const [clause = '', promise = '', proof = ''] = cells;
    if (clause !== '' || rows.length === 0) rows.push({ clause, promise, proofs: [] });
    if (proof !== '') rows.at(-1)?.proofs.push(readProof(proof));
  }
  return sections;
}

function cellsOf(line: string): readonly string[] | undefined {
  if (!line.startsWith('|')) return undefined;
  return line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim().replaceAll('\\|', '|'));
}

function isHeading([first = '']: readonly string[]): boolean {
  return first === 'clause' || /^-+$/.test(first);
}

function readProof(text: string): Proof {
  if (text === 'not built') return { kind: 'missing' };
  const [file = '', ...names] = text.split(SEPARATOR);
  const name = names.at(-1);
  if (name === undefined || names.length > 2 || !/^[\w/-]+$/.test(file)) return { kind: 'unreadable', text };
  return { kind: 'test', file, suite: names.length === 2 ? names[0] : undefined, name };
}

/** A test as its source writes it. */
export interface WrittenTest {
  /** The `describe` before it. */
  readonly suite: string;
  /** What a template fills in stands as `…`. */
  readonly name: string;
}

/** The tests of a source, in their order: the literals given to `it`, and neither `it.skip` nor `it.todo`. */
export function testsIn(source: string): readonly WrittenTest[] {
  const tests: WrittenTest[] = [];
  let suite = '';
  for (const match of source.matchAll(/\b(describe|it)\(\s*(?=['"`])/g)) {
    const { text } = readLiteral(source, match.index + match[0].length);
    if (match[1] === 'describe') suite = text;
    else tests.push({ suite, name: text });
  }
  return tests;
}

/** @param at of the opening quote. @returns the text, and the place behind the closing quote. */
function readLiteral(source: string, at: number): { readonly text: string; readonly end: number } {
  const quote = source[at];
  let text = '';
  let place = at + 1;
  while (place < source.length && source[place] !== quote) {
    if (source[place] === '\\') {
      text += source[place + 1] ?? '';
      place += 2;
    } else if (quote === '`' && source.startsWith('${', place)) {
      text += '…';
      place = endOfExpression(source, place + 2);
    } else {
      text += source[place];
      place += 1;
    }
  }
  return { text, end: place + 1 };
}

/** @param at behind `${`. @returns the place behind its `}`, whatever literals stand between. */
function endOfExpression(source: string, at: number): number {
  let depth = 1;
  let place = at;
  while (place < source.length && depth > 0) {
    const character = source[place] ?? '';
    if (`'"\``.includes(character)) {
      place = readLiteral(source, place).end;
      continue;
    }
    if (character === '{') depth += 1;
    if (character === '}') depth -= 1;
    place += 1;
  }
  return place;
}
