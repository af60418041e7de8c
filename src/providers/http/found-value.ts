/**
 * What an expression gave, in words for the operator's log: its type and size, a number, the host of a URL, and never a
 * text, because it may quote a prompt or a credential.
 */

export function describeValue(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (typeof value === 'string') return describeText(value);
  if (typeof value === 'number') return `the number ${value}`;
  if (Array.isArray(value)) return describeList(value);
  return value === null || typeof value === 'boolean' ? String(value) : 'an object';
}

function describeText(text: string): string {
  if (text === '') return 'an empty text';
  const length = `${text.length} ${text.length === 1 ? 'character' : 'characters'}`;
  if (/^data:/i.test(text)) return `a data URL of ${length}`;
  const { host = '', protocol = '' } = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) && URL.canParse(text) ? new URL(text) : {};
  if (host !== '') return `a URL at ${protocol}//${host}`;
  return `a text of ${length}`;
}

function describeList(values: readonly unknown[]): string {
  if (values.length === 0) return 'an empty list';
  const [first] = values;
  const isNested = Array.isArray(first);
  return `a list of ${values.length}, which begins with ${isNested ? 'a list' : describeValue(first)}`;
}
