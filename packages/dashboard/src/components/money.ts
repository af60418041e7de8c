/**
 * Amounts formatted for people. In the API they are decimal strings in USD with up to six decimals, and here too: they
 * are never converted to numbers.
 */

/** `0.042` → `$0.042`, `10` → `$10.00`: at least two decimals, never fewer than given. */
export function formatUsd(amount: string): string {
  const isNegative = amount.startsWith('-');
  const [whole = '0', fraction = ''] = amount.replace('-', '').split('.');
  const grouped = whole.replace(/\B(?=(?:\d{3})+$)/g, ',');
  return `${isNegative ? '−' : ''}$${grouped}.${fraction.padEnd(2, '0')}`;
}
