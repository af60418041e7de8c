import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  add,
  decimalOf,
  formatDecimal,
  formatUsd,
  isAbove,
  multiply,
  parseUsd,
  roundUpToMicroUsd,
} from '../../src/domain/money.ts';

/** The largest amount that the wire format can hold: 12 digits before the point, 6 after it. */
const LARGEST = 10n ** 18n - 1n;

describe('an amount of money', () => {
  // Proves C0-12.
  it('is read back exactly as it was written, for every amount that the wire can hold', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: LARGEST }), (microUsd) => {
        assert.equal(parseUsd(formatUsd(microUsd)), microUsd);
      }),
    );
  });

  it('is written as a plain decimal without trailing zeros or an exponent', () => {
    const small = [0n, 1n, 10n, 42_000n, 1_000_000n, 1_500_000n].map(formatUsd);

    assert.deepEqual(small, ['0', '0.000001', '0.00001', '0.042', '1', '1.5']);
    assert.deepEqual([LARGEST, -1n, -2_500_000n].map(formatUsd), ['999999999999.999999', '-0.000001', '-2.5']);
  });

  it('is the same for every spelling of one number', () => {
    for (const spelling of ['1.5', '1.50', '01.5', '000000000001.500000']) assert.equal(parseUsd(spelling), 1_500_000n);
  });

  it('is rejected in any other form', () => {
    const garbage = ['', ' ', '.5', '1.', '1.0000001', '1234567890123', '-1', '+1', '1e3', '0x1', '1,5', '1_000'];
    for (const text of [...garbage, '1 ', ' 1', '1\n', 'NaN', 'Infinity', '١', '1.5.5', '$1']) {
      assert.equal(parseUsd(text), undefined, JSON.stringify(text));
    }
  });

  it('is never read from a text that is not digits and one point', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        assert.equal(parseUsd(text) === undefined, !/^\d{1,12}(\.\d{1,6})?$/.test(text));
      }),
    );
  });
});

describe('an exact decimal', () => {
  it('is read as it is written, exponents of large and small numbers included', () => {
    const cases: [string | number | bigint, string][] = [
      ['0.25', '0.25'],
      ['007.50', '7.5'],
      [4.96, '4.96'],
      [0.1 + 0.2, '0.30000000000000004'],
      [1e21, '1000000000000000000000'],
      [1.5e-7, '0.00000015'],
      [12n, '12'],
      [0, '0'],
    ];
    for (const [value, expected] of cases) assert.equal(formatDecimal(decimalOf(value) ?? assert.fail()), expected);
  });

  it('is never anything but a number of zero or more', () => {
    for (const value of [-1, -0.5, NaN, Infinity, '', ' 1', '1 ', '.5', '5.', '0x1', '1e5', 'auto', '1\n', '١']) {
      assert.equal(decimalOf(value), undefined, String(value));
    }
  });

  it('is read back from what was written for every finite number', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }), (value) => {
        assert.equal(Number(formatDecimal(decimalOf(value) ?? assert.fail())), value);
      }),
    );
  });

  it('adds, multiplies and compares without losing anything', () => {
    const scaled = fc.record({
      digits: fc.bigInt({ min: 0n, max: 10n ** 20n }),
      scale: fc.integer({ min: 0, max: 15 }),
    });
    const atThirty = ({ digits, scale }: { digits: bigint; scale: number }): bigint =>
      digits * 10n ** BigInt(30 - scale);
    fc.assert(
      fc.property(scaled, scaled, (a, b) => {
        assert.equal(atThirty(add(a, b)), atThirty(a) + atThirty(b));
        assert.equal(atThirty(multiply(a, b)) * 10n ** 30n, atThirty(a) * atThirty(b));
        assert.equal(isAbove(a, b), atThirty(a) > atThirty(b));
      }),
    );
  });

  it('is rounded up to the micro, and not at all when it is whole', () => {
    const rounded = ['0', '0.000001', '0.0000010', '0.0000001', '0.00000100000000001', '1.5', '2'].map((text) =>
      roundUpToMicroUsd(decimalOf(text) ?? assert.fail()),
    );

    assert.deepEqual(rounded, [0n, 1n, 1n, 1n, 2n, 1_500_000n, 2_000_000n]);
  });
});
