/** The base URL of an upstream, as an operator configures it: paths are appended to it. */

const MAX_LENGTH = 2_048;

export function isBaseUrl(text: string): boolean {
  if (text.length > MAX_LENGTH || !/^https?:\/\/[^\s]+$/.test(text) || !URL.canParse(text)) return false;
  const { username, password, hash, search } = new URL(text);
  return username === '' && password === '' && hash === '' && search === '';
}
