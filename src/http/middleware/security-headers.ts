/**
 * The security headers of every response (contract §1): browsers must not guess its type, run it, frame it or hand it
 * to pages of other origins. Files and pages set more headers, or others, where they are served
 * (objects/urls/media-response.ts, routes/dashboard.ts).
 */
import type { ParameterizedContext } from 'koa';

/** For every response. Responses are data: if a browser takes one for a page, nothing in it runs or loads. */
export const SECURITY_HEADERS: readonly (readonly [name: string, value: string])[] = [
  ['X-Content-Type-Options', 'nosniff'],
  ['Referrer-Policy', 'no-referrer'],
  ['Cross-Origin-Resource-Policy', 'same-origin'],
  ['Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'"],
];

/** For responses over HTTPS only (RFC 6797 §7.2). One year; other hosts of the domain are not ours to decide for. */
export const STRICT_TRANSPORT_SECURITY = ['Strict-Transport-Security', 'max-age=31536000'] as const;

/** Everything from this origin; Swagger UI and the guide draw their icons as data URLs. Verified in Chromium. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Sets the headers of a page that consists of files of ours, and is the same for everybody. */
export function protectPage(ctx: ParameterizedContext): void {
  ctx.set('Content-Security-Policy', PAGE_POLICY);
  // For browsers that do not support `frame-ancestors`.
  ctx.set('X-Frame-Options', 'DENY');
}
