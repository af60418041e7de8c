/** Every requirement is proven by a test that states it. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { ERROR_KINDS } from '@darkroom/api/facts/error-kinds';
import { packageFile } from '../../src/config/package-root.ts';
import { provingTests } from './render-specification.ts';
import { SECTIONS } from './requirements.ts';
import { listTestFiles } from './test-files.ts';
import { testsIn } from './written-tests.ts';

const requirements = SECTIONS.flatMap((section) => section.requirements);
const tests = provingTests();

describe('the requirements', () => {
  it('are numbered, each once', () => {
    const numbers = requirements.map(({ number }) => number);

    assert.ok(numbers.length >= 305);
    assert.equal(new Set(numbers).size, numbers.length);
    assert.deepEqual(
      numbers.filter((number) => !/^[SC]\d+(?:\.\d+)?-\d+$/.test(number)),
      [],
    );
  });

  it('are proven by tests, all of them', () => {
    const proven = new Set(tests.flatMap(({ proves }) => proves));

    assert.deepEqual(
      requirements.map(({ number }) => number).filter((number) => !proven.has(number)),
      [],
    );
  });

  it('are all requirements that a test names', () => {
    const known = new Set(requirements.map(({ number }) => number));

    assert.deepEqual(
      tests.flatMap(({ file, proves }) =>
        proves.filter((number) => !known.has(number)).map((number) => `${file}: ${number}`),
      ),
      [],
    );
  });

  it('are named right above a test, wherever they are', () => {
    const files = listTestFiles().filter(
      ({ name }) => !/^(?:histories|fixtures)\b|^docs\b.(?!field-coverage)/.test(name),
    );

    assert.deepEqual(
      files.filter(({ path: file }) => {
        const source = readFileSync(packageFile(file), 'utf8');
        const comments = source.match(/\/\/ Proves /g)?.length ?? 0;
        return comments !== testsIn(source).filter(({ proves }) => proves.length > 0).length;
      }),
      [],
    );
  });

  it('include every error code that the service can return', () => {
    const codes = new Set(Object.values(ERROR_KINDS).map(({ errorCode }) => errorCode));

    assert.ok(codes.size >= 12, [...codes].join());
    for (const code of codes) {
      assert.ok(
        requirements.some(({ title, text }) => `${title} ${text}`.includes(code)),
        `no requirement has ${code}`,
      );
    }
  });

  it('are proven by shared suites only when a test file runs them', () => {
    const sources = listTestFiles()
      .filter(({ name }) => name.endsWith('.test.ts'))
      .map(({ path: file }) => readFileSync(packageFile(file), 'utf8'))
      .join('\n');

    for (const file of new Set(tests.map((test) => test.file))) {
      if (file.endsWith('.test.ts')) continue;
      assert.match(sources, new RegExp(`/${file.split('/').at(-1)}'`), `${file} is run by no test`);
    }
  });
});

describe('the tests of a source', () => {
  it('have their literals as they are written, and … for template expressions', () => {
    const source = [
      `describe('a suite', () => {`,
      `  it('it\\'s one', () => {});`,
      `  it(\n    "another",\n  );`,
      "  it(`${a} and ${b === `}` ? 'x}' : `${c}`} end`, () => {});",
      `  it.skip('not this', () => {});`,
      `  permit('nor this');`,
      `});`,
    ].join('\n');

    assert.deepEqual(
      testsIn(source).map(({ suite, name }) => [suite, name]),
      [
        ['a suite', "it's one"],
        ['a suite', 'another'],
        ['a suite', '… and … end'],
      ],
    );
  });

  it('prove what the comment right above them says, over several lines too', () => {
    const source = [
      `// Proves S2.1-1.`,
      `it('one', () => {});`,
      `  // Proves S2-1, C3-4,`,
      `  // C9-12.`,
      `  it('two', () => {});`,
      `// Proves C1-1.`,
      ``,
      `it('none', () => {});`,
    ].join('\n');

    assert.deepEqual(
      testsIn(source).map(({ proves }) => proves),
      [['S2.1-1'], ['S2-1', 'C3-4', 'C9-12'], []],
    );
  });
});
