/**
 * What every answer tells a browser (contract §1): nothing of it is to be guessed at, run, framed or taken over by pages
 * of others. Files and pages say more, or something else, where they are answered (objects/urls/media-response.ts,
 * routes/reference.ts).
 */

/** Of every answer. What is sent is data: where a browser takes it for a page all the same, nothing in it runs or loads. */
export const SECURITY_HEADERS: readonly (readonly [name: string, value: string])[] = [
  ['X-Content-Type-Options', 'nosniff'],
  ['Referrer-Policy', 'no-referrer'],
  ['Cross-Origin-Resource-Policy', 'same-origin'],
  ['Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'"],
];

/** Of answers over HTTPS alone (RFC 6797 §7.2). A year; other names of the domain are not ours to speak for. */
export const STRICT_TRANSPORT_SECURITY = ['Strict-Transport-Security', 'max-age=31536000'] as const;
