/** The page of what each method of OpenAI's official clients results in: one table for each client. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { packageFile } from '../../../src/config/package-root.ts';
import { table } from '../../docs/markdown-table.ts';

const PAGE = packageFile('docs/reference/openai-clients.md');

/** In which forms a method is called: as it is, as a stream, and in the two ways to get the response itself. */
export type Form = 'plain' | 'stream' | 'raw' | 'streaming';
export const FORMS: readonly Form[] = ['plain', 'stream', 'raw', 'streaming'];

/** By method and form: `works`, or the status and the code of the rejection. */
export type Results = Readonly<Record<string, Readonly<Partial<Record<Form, string>>>>>;

const WORKS = 'works';
/** A rejection by the server, as the client reports it. */
const REJECTED = /^4\d\d(?: \w+)?$/;

/** @throws {AssertionError} a call failed otherwise than by a rejection: in the client, or with another value. */
export function assertClean(results: Results): void {
  const failed = Object.entries(results).flatMap(([method, forms]) =>
    Object.entries(forms)
      .filter(([, result]) => result !== WORKS && !REJECTED.test(result))
      .map(([form, result]) => `${method}, ${form}: ${result}`),
  );
  assert.deepEqual(failed, []);
}

/** @param heads of the columns, in the order of the forms. */
export function renderTable(heads: readonly string[], results: Results): string {
  const rows = Object.entries(results).map(([method, forms]) => [
    `\`${method}\``,
    ...FORMS.map((form) => cell(forms[form])),
  ]);
  return table(['method', ...heads], rows);
}

function cell(result: string | undefined): string {
  if (result === undefined || result === WORKS) return result ?? '';
  const [status = '', code] = result.split(' ');
  return code === undefined ? status : `${status} \`${code}\``;
}

/**
 * Compares the table below a heading of the page, or writes it if `WRITE_OPENAI_CLIENTS` is 1.
 *
 * @throws {AssertionError} the page has another table.
 */
export function assertOnPage(heading: string, rendered: string): void {
  const page = readFileSync(PAGE, 'utf8');
  const [before = '', after] = page.split(`\n## ${heading}\n\n`);
  assert.ok(after !== undefined, `docs/reference/openai-clients.md has no heading "${heading}"`);
  const next = after.indexOf('\n## ');
  const rest = next < 0 ? '' : after.slice(next);
  const current = next < 0 ? after : after.slice(0, next);
  if (process.env['WRITE_OPENAI_CLIENTS'] === '1') {
    writeFileSync(PAGE, `${before}\n## ${heading}\n\n${rendered}${rest}`);
    return;
  }
  assert.equal(current, rendered, 'run: WRITE_OPENAI_CLIENTS=1 npm run test:wide -- openai-methods');
}
