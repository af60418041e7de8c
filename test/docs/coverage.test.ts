/**
 * docs/coverage.md cannot rot: every clause has its one row, every row rests on a test that exists or says that it is not
 * built, and the numbers at its top are true.
 */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile, readdir } from 'node:fs/promises';
import { before, describe, it } from 'node:test';
import { packageFile } from '../../src/config/package-root.ts';
import { CONTRACT, NOT_BUILT, SPECIFICATION } from './clauses.ts';
import { readSections, testsIn } from './coverage-table.ts';
import type { CoverageRow, CoverageSection, Proof, WrittenTest } from './coverage-table.ts';

let page: string;
let sections: readonly CoverageSection[];
let rows: readonly CoverageRow[];
/** By the path below `test/`, as it stands on the page. */
const tests = new Map<string, readonly WrittenTest[]>();
before(async () => {
  page = await readFile(packageFile('docs/coverage.md'), 'utf8');
  sections = readSections(page);
  rows = sections.flatMap((section) => section.rows);
  for (const { proofs } of rows) {
    for (const proof of proofs) {
      if (proof.kind === 'test' && !tests.has(proof.file)) tests.set(proof.file, await readTests(proof.file));
    }
  }
});

async function readTests(file: string): Promise<readonly WrittenTest[]> {
  const path = [`test/${file}.test.ts`, `test/${file}.ts`].map(packageFile).find((each) => existsSync(each));
  return path === undefined ? [] : testsIn(await readFile(path, 'utf8'));
}

/** What is wrong with a proof; undefined where nothing is. */
function problemOf(proof: Proof): string | undefined {
  if (proof.kind === 'missing') return undefined;
  if (proof.kind === 'unreadable') return `no test: ${proof.text}`;
  const { file, suite, name } = proof;
  // Those need more than Node and are not run by `npm test`.
  if (file.startsWith('wide/')) return `${file} is not run by npm test`;
  const found = (tests.get(file) ?? []).filter((test) => test.name === name && (suite ?? test.suite) === test.suite);
  if (found.length === 1) return undefined;
  return found.length === 0 ? `there is no test › ${name} in ${file}` : `several tests of ${file} are called › ${name}`;
}

describe('docs/coverage.md', () => {
  it('has exactly one row for every clause of the specification and of the contract, and no other', () => {
    const clausesOf = (title: string): readonly string[] =>
      sections
        .filter((section) => section.title === title)
        .flatMap((section) => section.rows.map(({ clause }) => clause));

    assert.ok(SPECIFICATION.length > 80 && CONTRACT.length > 180);
    assert.deepEqual(clausesOf('The specification'), SPECIFICATION);
    assert.deepEqual(clausesOf('The wire contract'), CONTRACT);
    for (const clauses of [SPECIFICATION, CONTRACT]) assert.equal(new Set(clauses).size, clauses.length);
  });

  it('rests every row on tests that exist, or says that it is not built', () => {
    const problems = rows.flatMap(({ clause, promise, proofs }) => {
      if (promise === '') return [`${clause}: promises nothing`];
      if (proofs.length === 0) return [`${clause}: no test`];
      return proofs.flatMap((proof) => problemOf(proof) ?? []).map((problem) => `${clause}: ${problem}`);
    });

    assert.deepEqual(problems, []);
  });

  it('claims nothing to be proven and not built at once', () => {
    const mixed = rows.filter(({ proofs }) => new Set(proofs.map(({ kind }) => kind)).size > 1);

    assert.deepEqual(mixed, []);
  });

  it('has nothing that is promised and not built but what is known', () => {
    const missing = rows.filter(({ proofs }) => proofs.some(({ kind }) => kind === 'missing'));

    assert.deepEqual(
      missing.map(({ clause }) => clause),
      NOT_BUILT,
    );
  });

  it('counts its rows at its top', () => {
    const countOf = (kind: Proof['kind']): number => rows.filter(({ proofs }) => proofs[0]?.kind === kind).length;
    const summary = `**${rows.length} rows: ${countOf('test')} proven, ${countOf('missing')} not built.**`;

    assert.ok(page.includes(summary), `the page should say ${summary}`);
  });

  it('has a row for every error code that the service can answer with', async () => {
    const folder = packageFile('src/http');
    const files = (await readdir(folder, { recursive: true })).filter((file) => file.endsWith('.ts'));
    const sources = await Promise.all(files.map((file) => readFile(`${folder}/${file}`, 'utf8')));
    const codes = new Set(
      sources.flatMap((source) => [...source.matchAll(/errorCode: '(\w+)'/g)].map(([, code]) => code)),
    );

    assert.ok(codes.size >= 12, [...codes].join());
    for (const code of codes) {
      assert.ok(
        rows.some(({ clause, promise }) => `${clause} ${promise}`.includes(String(code))),
        `no row speaks of ${code}`,
      );
    }
  });

  it('names shared suites only where a test file runs them', async () => {
    const folder = packageFile('test');
    const files = (await readdir(folder, { recursive: true })).filter((file) => file.endsWith('.test.ts'));
    const sources = (await Promise.all(files.map((file) => readFile(`${folder}/${file}`, 'utf8')))).join('\n');
    for (const file of tests.keys()) {
      if (existsSync(packageFile(`test/${file}.test.ts`))) continue;
      assert.match(sources, new RegExp(`/${file.split('/').at(-1)}\\.ts'`), `${file} is run by no test`);
    }
  });
});

describe('reading the page', () => {
  const table = (...lines: string[]): readonly CoverageRow[] =>
    readSections(['## Title', '| clause | promise | proven by |', '| --- | --- | --- |', ...lines].join('\n')).flatMap(
      (section) => section.rows,
    );

  it('takes a row without a clause for more of the one above it', () => {
    const [row, ...others] = table('| §1 a | b | x/y › z |', '|  |  | x/z › suite › a \\| b |');

    assert.deepEqual(others, []);
    assert.deepEqual(row?.proofs, [
      { kind: 'test', file: 'x/y', suite: undefined, name: 'z' },
      { kind: 'test', file: 'x/z', suite: 'suite', name: 'a | b' },
    ]);
  });

  it('finds nothing to rest on in a row that names no test', () => {
    assert.deepEqual(
      table(
        '| a | b | soon |',
        '| c | d |  |',
        '| e | f | not yet |',
        '| g | h | not yet: part 4 |',
        '| i | j | not built |',
      ).map(({ proofs }) => proofs.map(({ kind }) => kind)),
      [['unreadable'], [], ['unreadable'], ['unreadable'], ['missing']],
    );
  });

  it('does not accept a test that is not there, or of another file', () => {
    const told = (text: string): string | undefined => {
      const [row] = table(`| a | b | ${text} |`);
      const [proof] = row?.proofs ?? [];
      return proof === undefined ? 'nothing' : problemOf(proof);
    };

    assert.match(told('domain/ids › is no such test') ?? '', /there is no test/);
    assert.match(told('domain/nothing › has the same form and is new each time') ?? '', /there is no test/);
    assert.match(told('domain/ids › another suite › has the same form and is new each time') ?? '', /there is no test/);
    assert.match(told('wide/topology › anything') ?? '', /not run by npm test/);
    assert.equal(told('domain/ids › has the same form and is new each time'), undefined);
  });
});

describe('reading the names of tests', () => {
  it('takes the literals as they are written, and … for what is filled in', () => {
    const source = [
      `describe('a suite', () => {`,
      `  it('it\\'s one', () => {});`,
      `  it(\n    "another",\n  );`,
      "  it(`${a} and ${b === `}` ? 'x}' : `${c}`} end`, () => {});",
      `  it.skip('not this', () => {});`,
      `  permit('nor this');`,
      `});`,
    ].join('\n');

    assert.deepEqual(testsIn(source), [
      { suite: 'a suite', name: "it's one" },
      { suite: 'a suite', name: 'another' },
      { suite: 'a suite', name: '… and … end' },
    ]);
  });
});
