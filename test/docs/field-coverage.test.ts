/** Everything observed of a field of spec §2.5 is shown by tests that exist. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { packageFile } from '../../src/config/package-root.ts';
import { SPEC_FIELDS, describeCell } from '../catalogue/spec-fields.ts';
import { proofsOf } from './render-field-coverage.ts';
import { listTestFiles } from './test-files.ts';
import { testsIn } from './written-tests.ts';

/** What is wrong with `file › name` or `file › suite › name`; undefined if nothing is. */
async function problemOf(proof: string): Promise<string | undefined> {
  const [file = '', ...names] = proof.split(' › ');
  const found = listTestFiles().find((each) => each.name === `${file}.test.ts`);
  if (file.startsWith('wide/') || found === undefined) return `${proof}: there is no such file of tests`;
  const [name, suite] = names.toReversed();
  const tests = testsIn(await readFile(packageFile(found.path), 'utf8')).filter(
    (test) => test.name === name && (suite ?? test.suite) === test.suite,
  );
  return tests.length === 1 ? undefined : `${proof}: ${tests.length} tests have that name`;
}

describe('the fields of the specification', () => {
  // Proves S2.5-5, S2.5-6, S2.5-7, S2.5-8, S2.5-9, S2.5-10, S2.5-11, S2.5-12, S2.5-13, S2.5-14, S2.5-15, S2.5-16,
  // S2.5-17, S2.5-18, S2.5-19, S2.5-20, S2.5-21.
  it('are shown by an existing test, each observation', async () => {
    const cells = SPEC_FIELDS.rows.flatMap((row) => row.cells);
    const unproven = [
      ...cells.filter((cell) => proofsOf(cell).length === 0).map((cell) => `${cell.field} ${describeCell(cell)}`),
      ...SPEC_FIELDS.additive.map(({ field }) => field).filter((field) => SPEC_FIELDS.honouredBy[field] === undefined),
    ];
    const proofs = new Set([...cells.flatMap(proofsOf), ...Object.values(SPEC_FIELDS.honouredBy).flat()]);
    const problems = await Promise.all([...proofs].map(problemOf));

    assert.deepEqual(unproven, []);
    assert.deepEqual(
      problems.filter((problem) => problem !== undefined),
      [],
    );
  });

  it('are not shown by a test that does not exist', async () => {
    assert.match((await problemOf('catalogue/spec-fields › nothing')) ?? '', /0 tests have that name/);
    assert.match((await problemOf('catalogue/nowhere › nothing')) ?? '', /no such file/);
    assert.equal(await problemOf('docs/field-coverage › are shown by an existing test, each observation'), undefined);
  });
});
