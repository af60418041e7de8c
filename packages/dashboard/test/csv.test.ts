/** Ledger entries as a file for spreadsheets. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { csvHead, csvLine } from '../src/pages/usage/csv.ts';

const ENTRY = {
  id: '1',
  at: 1_700_000_000,
  kind: 'adjustment',
  reference: 'credit',
  amount: '-0.000001',
  availableChange: '-0.000001',
  balanceChange: '-0.000001',
  currency: 'USD',
  keyId: null,
  model: null,
  available: '9.999999',
  balance: '9.999999',
} as const;

describe('the file of the ledger', () => {
  it('starts so that spreadsheets read it as UTF-8, with a name for every column', () => {
    const head = csvHead();

    assert.equal(head.charCodeAt(0), 0xfeff);
    assert.equal(head.trim().split(',').length, csvLine(ENTRY).trim().split(',').length);
  });

  it('has amounts as the API writes them, to the millionth', () => {
    assert.equal(
      csvLine(ENTRY),
      '2023-11-14T22:13:20Z,adjustment,credit,-0.000001,-0.000001,-0.000001,USD,,,false,9.999999,9.999999\r\n',
    );
  });

  it('has no cell that a spreadsheet takes for a formula', () => {
    for (const text of ['=1+1', '+1', '-cmd', '@SUM(A1)', ' =1', '\t1', '\uFF1D1']) {
      const [, , cell = ''] = csvLine({ ...ENTRY, reference: text }).split(',');
      assert.match(cell, /^"?'/, text);
    }
  });

  it('quotes what would end a cell', () => {
    assert.match(csvLine({ ...ENTRY, reference: 'pay, "now"\r\nhere' }), /,"pay, ""now""\r\nhere",/);
  });
});
