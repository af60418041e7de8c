/** Amounts as the pages calculate with them and show them: exact, from the API's decimal strings. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { amountOf, microsOf, percentOf } from '../src/components/amounts.ts';
import { formatUsd } from '../src/components/money.ts';

describe('an amount', () => {
  it('is shown with two decimals or more, grouped by thousands, and never rounded', () => {
    const shown = ['0', '10', '0.042', '-1234567.5', '999.999999'].map(formatUsd);

    assert.deepEqual(shown, ['$0.00', '$10.00', '$0.042', '−$1,234,567.50', '$999.999999']);
  });

  it('is the same after a calculation in millionths', () => {
    for (const amount of ['0', '0.000001', '12.5', '9007199254740993.000001']) {
      assert.equal(amountOf(microsOf(amount)), amount);
    }
    assert.equal(microsOf('-0.5'), -500_000n);
  });

  it('is rejected when it is not one', () => {
    for (const text of ['', '1e3', '.5', '1.0000001', '$1']) assert.throws(() => microsOf(text), RangeError, text);
  });

  it('is a share of another, which is not complete before it is', () => {
    assert.deepEqual(
      [percentOf(1n, 3n), percentOf(999_999n, 1_000_000n), percentOf(3n, 2n), percentOf(0n, 0n), percentOf(1n, 0n)],
      [33.3, 99.9, 150, 0, 100],
    );
  });
});
