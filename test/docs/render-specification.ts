/**
 * Renders the requirements (requirements.ts) with the tests that state which of them they prove. Run by itself it writes
 * `.cache/specification.md`: `npm run ts -- test/docs/render-specification.ts`
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageFile } from '../../src/config/package-root.ts';
import { table } from './markdown-table.ts';
import { SECTIONS } from './requirements.ts';
import { listTestFiles } from './test-files.ts';
import { testsIn } from './written-tests.ts';
import type { WrittenTest } from './written-tests.ts';

const INTRODUCTION = `# Specification

What Darkroom is required to do, and the tests that prove it. \`S\` are the paragraphs of the specification that it was built to, \`C\` those of docs/contract.md. A test is its file below \`test/\`, without \`.test.ts\`, and its name; \`…\` is filled in when it runs.

This page is generated from \`test/docs/requirements.ts\` and from the comments \`// Proves …\` above the tests: \`npm run ts -- test/docs/render-specification.ts\`.
`;

/** A test, and its location. */
export interface ProvingTest extends WrittenTest {
  /** As documents name it, with its extension (test-files.ts). */
  readonly file: string;
}

/** The tests of `npm test`: those of `wide/` need more than Node. */
export function provingTests(): readonly ProvingTest[] {
  return listTestFiles()
    .filter(({ name }) => !/^(?:wide|histories|fixtures)\/|^docs\/specification/.test(name))
    .flatMap(({ name: file, path: location }) =>
      testsIn(readFileSync(packageFile(location), 'utf8'))
        .filter(({ proves }) => proves.length > 0)
        .map((test) => ({ ...test, file })),
    );
}

function renderSpecification(tests: readonly ProvingTest[]): string {
  const blocks = SECTIONS.map(({ document, title, requirements }, index) => {
    const rows = requirements.flatMap(({ number, title: name, text }) => {
      const [first = '', ...others] = tests.filter(({ proves }) => proves.includes(number)).map(lineOf);
      const required = name === '' ? text : `**${name}**: ${text}`;
      return [[number, required, first], ...others.map((other) => ['', '', other])];
    });
    const heading = SECTIONS[index - 1]?.document === document ? '' : `## ${document}\n\n`;
    return `${heading}### ${title}\n\n${table(['number', 'requirement', 'proven by'], rows)}`;
  });
  return [INTRODUCTION, ...blocks].join('\n');
}

function lineOf({ file, name }: ProvingTest): string {
  return `${file.replace(/(?:\.test)?\.ts$/, '')} › ${name}`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const file = packageFile('.cache/specification.md');
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, renderSpecification(provingTests()));
  process.stdout.write(`${file}\n`);
}
