/**
 * Ledger entries as lines of CSV (RFC 4180). Amounts stay the API's decimal strings, and no text can become a formula
 * in a spreadsheet: a text that would start one gets an apostrophe before it.
 */
import type { LedgerEntry } from '../../api/usage.ts';
import { texts } from '../../texts/usage.ts';

const LINE_END = '\r\n';
/** Without it spreadsheets read the file in the local character encoding. */
const BYTE_ORDER_MARK = '\uFEFF';
/**
 * OWASP "CSV Injection": `=`, `+`, `-`, `@`, tab, carriage return, line feed, and the full-width forms of the signs.
 */
const FORMULA = /^(?:[\t\r\n]|\s*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20])/;
const NUMBER = /^-?\d+(?:\.\d+)?$/;

export function csvHead(): string {
  return BYTE_ORDER_MARK + lineOf(texts.csv.columns);
}

export function csvLine(entry: LedgerEntry): string {
  return lineOf([
    new Date(entry.at * 1000).toISOString().replace('.000Z', 'Z'),
    entry.kind,
    entry.reference,
    entry.amount,
    entry.availableChange,
    entry.balanceChange,
    entry.currency,
    entry.keyId ?? '',
    entry.model ?? '',
    entry.isEstimated === true ? 'true' : 'false',
    entry.available,
    entry.balance,
  ]);
}

function lineOf(values: readonly string[]): string {
  return values.map(cellOf).join(',') + LINE_END;
}

/** A negative amount begins with a minus but is a number. */
function cellOf(value: string): string {
  const text = FORMULA.test(value) && !NUMBER.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
