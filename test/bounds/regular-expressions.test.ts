/** No input can make a regular expression of the program take long, as far as that can be proved. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { findExpressions, hashOf, problemOf, readKnown } from './regular-expressions.ts';

describe('the regular expressions of the program', () => {
  it('are linear, or are in the list with what limits their input', async () => {
    const { bounded, linear } = await readKnown();
    const expressions = await findExpressions();
    assert.ok(expressions.size > 400, `only ${expressions.size} were found`);

    const unknown = [...expressions.keys()].filter(
      (expression) => !Object.hasOwn(bounded, expression) && !linear.includes(hashOf(expression)),
    );
    const problems = unknown.flatMap((expression) => {
      const problem = problemOf(expression);
      const places = expressions.get(expression)?.join(', ');
      return problem === undefined ? [] : [`${places}: ${expression}: ${problem}`];
    });

    assert.deepEqual(problems, []);
  });

  it('that are in the list exist in the program', async () => {
    const expressions = await findExpressions();
    const stale = Object.keys((await readKnown()).bounded).filter((expression) => !expressions.has(expression));

    assert.deepEqual(stale, []);
  });

  it('are detected when they are not linear', () => {
    assert.match(problemOf('/^(a+)+$/') ?? '', /exponential/);
    assert.match(problemOf(String.raw`/\s*x\s*$/`) ?? '', /polynomial/);
    assert.equal(problemOf('/^[a-z]+$/'), undefined);
  });
});
