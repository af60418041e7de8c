import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { formatUsd, parseUsd } from '../../src/domain/money.ts';

/** The largest amount that the wire's form can hold: 12 digits before the point, 6 behind it. */
const LARGEST = 10n ** 18n - 1n;

describe('an amount of money', () => {
  it('is read back exactly as it was written, for every amount that the wire can hold', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: LARGEST }), (microUsd) => {
        assert.equal(parseUsd(formatUsd(microUsd)), microUsd);
      }),
    );
  });

  it('is written as a plain decimal without trailing zeros or an exponent', () => {
    const written = [0n, 1n, 10n, 42_000n, 1_000_000n, 1_500_000n, LARGEST, -1n, -2_500_000n].map(formatUsd);

    assert.deepEqual(written, [
      '0',
      '0.000001',
      '0.00001',
      '0.042',
      '1',
      '1.5',
      '999999999999.999999',
      '-0.000001',
      '-2.5',
    ]);
  });

  it('is the same for every spelling of one number', () => {
    for (const spelling of ['1.5', '1.50', '01.5', '000000000001.500000']) assert.equal(parseUsd(spelling), 1_500_000n);
  });

  it('is refused in any other form', () => {
    const garbage = [
      '',
      ' ',
      '.5',
      '1.',
      '1.0000001',
      '1234567890123',
      '-1',
      '+1',
      '1e3',
      '0x1',
      '1,5',
      '1 ',
      ' 1',
      '1\n',
    ];
    for (const text of [...garbage, 'NaN', 'Infinity', '١', '1_000', '1.5.5', '$1']) {
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
