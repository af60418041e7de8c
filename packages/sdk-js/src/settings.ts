/** What a client is configured with, checked when it is created. */

/** @returns the base URL of the API, which ends in `/v1`. @throws {TypeError} */
export function apiUrlOf(baseUrl: string | undefined): string {
  if (baseUrl === undefined || baseUrl === '') throw new TypeError('baseUrl is missing: pass the URL of the service');
  if (!URL.canParse(baseUrl)) throw new TypeError(`baseUrl is not a URL: ${baseUrl}`);
  const { protocol, origin, pathname, username, password, search, hash } = new URL(baseUrl);
  if (protocol !== 'https:' && protocol !== 'http:') throw new TypeError(`baseUrl is not an HTTP URL: ${baseUrl}`);
  if (username !== '' || password !== '' || search !== '' || hash !== '') {
    throw new TypeError('baseUrl has a user name, a query or a fragment; pass the key as apiKey');
  }
  let path = pathname;
  while (path.endsWith('/')) path = path.slice(0, -1);
  return `${origin}${path.endsWith('/v1') ? path : `${path}/v1`}`;
}

/** @throws {TypeError} it is not a whole number from `least` on. */
export function requireCount(name: string, value: number, least: number): number {
  if (Number.isInteger(value) && value >= least) return value;
  throw new TypeError(`${name} is not a whole number from ${least} on: ${value}`);
}

/** A new idempotency key. Not `randomUUID`, which browsers have on secure pages alone. */
export function randomKey(): string {
  const bytes = globalThis.crypto.getRandomValues(new Uint8Array(16));
  return `sdk-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}
