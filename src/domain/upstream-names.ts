/** How upstreams and their credentials are named and addressed. */

/**
 * The name of a credential or a provider, as a part of an environment variable, in the one form that is compared.
 * Environment variables have neither lower case nor hyphens: names that differ only in these are the same.
 */
export function canonicalName(name: string): string {
  return name.toLowerCase().replaceAll('-', '_');
}

const MAX_BASE_URL_LENGTH = 2_048;

/** Whether a text can be the base URL of an upstream, as an operator configures it: paths are appended to it. */
export function isBaseUrl(text: string): boolean {
  if (text.length > MAX_BASE_URL_LENGTH || !/^https?:\/\/[^\s]+$/.test(text) || !URL.canParse(text)) return false;
  const { username, password, hash, search } = new URL(text);
  return username === '' && password === '' && hash === '' && search === '';
}

/** The protocol of the embedded engines, and the name of their upstream in records: no provider bills their work. */
export const EMBEDDED_PROTOCOL = 'embedded';

/** The name of our own text model among the upstreams of text. */
export const EMBEDDED_TEXT_UPSTREAM = 'text:embedded';
