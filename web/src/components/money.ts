/**
 * Amounts as people read them. On the wire they are decimal strings in USD with up to six places, and here too: nothing
 * is reckoned with them as numbers.
 */

/** `0.042` → `$0.042`, `10` → `$10.00`: at least two places, never fewer than there are. */
export function formatUsd(amount: string): string {
  const isNegative = amount.startsWith('-');
  const [whole = '0', fraction = ''] = amount.replace('-', '').split('.');
  const grouped = whole.replace(/\B(?=(?:\d{3})+$)/g, ',');
  return `${isNegative ? '−' : ''}$${grouped}.${fraction.padEnd(2, '0')}`;
}
