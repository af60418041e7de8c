/**
 * Lines of CSV (RFC 4180). No text can become a formula in a spreadsheet: a text that would start one gets an
 * apostrophe before it.
 */

const LINE_END = '\r\n';
/** Without it spreadsheets read the file in the local character encoding. */
export const BYTE_ORDER_MARK = '\uFEFF';
/**
 * OWASP "CSV Injection": `=`, `+`, `-`, `@`, tab, carriage return, line feed, and the full-width forms of the signs.
 */
const FORMULA = /^(?:[\t\r\n]|\s*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20])/;
const NUMBER = /^-?\d+(?:\.\d+)?$/;

export function csvLineOf(values: readonly string[]): string {
  return values.map(cellOf).join(',') + LINE_END;
}

/** A negative amount begins with a minus but is a number. */
function cellOf(value: string): string {
  const text = FORMULA.test(value) && !NUMBER.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
