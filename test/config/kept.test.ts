/** Retention periods, and the price of storage: the defaults of the contract, and values that are rejected. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { loadConfig } from '../../src/config/config.ts';
import { ConfigurationError } from '../../src/config/environment.ts';
import { LEAST } from './least-configuration.ts';

describe('the retention settings', () => {
  // Proves C5-16.
  it('charge $0.05 per GB and month, and default to temporary for 7 days, URLs of half an hour, inputs for 30 days', () => {
    const config = loadConfig(LEAST);

    assert.equal(config.storagePriceMicroUsdPerGbMonth, 50_000n);
    assert.equal(config.outputRetentionDays, 7);
    assert.equal(config.urls.lifetimeSeconds, 1_800);
    assert.equal(config.inputRetentionDays, 30);
  });

  it('may be free, or have any exact price', () => {
    for (const [text, microUsd] of [
      ['0', 0n],
      ['0.000001', 1n],
      ['12', 12_000_000n],
    ] as const) {
      const { storagePriceMicroUsdPerGbMonth } = loadConfig({ ...LEAST, STORAGE_USD_PER_GB_MONTH: text });
      assert.equal(storagePriceMicroUsdPerGbMonth, microUsd);
    }
  });

  it('reject a price that is not a decimal amount', () => {
    for (const text of ['-1', '1e3', '0.0000001', 'free', '0,05', 'NaN', '$1']) {
      assert.throws(
        () => loadConfig({ ...LEAST, STORAGE_USD_PER_GB_MONTH: text }),
        (error) =>
          error instanceof ConfigurationError && error.problems[0]?.startsWith('STORAGE_USD_PER_GB_MONTH: ') === true,
        text,
      );
    }
  });
});
