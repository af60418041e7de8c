/**
 * Headers that many responses have: for the security of browsers, and about the deprecation of models. Files and pages
 * set more headers, or others, where they are served (objects/urls/media-response.ts, routes/dashboard.ts).
 */
import type { ParameterizedContext } from 'koa';
import type { ModelDefinition } from '../../catalogue/definition.ts';
import type { RequestState } from '../app/context.ts';

/**
 * For every response (contract §1): browsers must not guess its type, run it, frame it or hand it to pages of other
 * origins. Responses are data: if a browser takes one for a page, nothing in it runs or loads.
 */
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

/** Of every response about a model that is deprecated (contract §8), with a line for each. */
export const DEPRECATION_HEADERS = {
  Deprecation:
    'The time since when the model is deprecated, as `@` and Unix seconds (RFC 9745). Absent if the model is not deprecated.',
  Sunset: 'The time when the model will be retired, as an HTTP date (RFC 8594). Absent if no retirement is planned.',
};

/** @param definition of the model that the response is about; undefined: it is no longer in the catalogue. */
export function setDeprecationHeaders(
  ctx: ParameterizedContext<RequestState>,
  definition: Pick<ModelDefinition, 'deprecatedAt' | 'retiresAt'> | undefined,
): void {
  const { deprecatedAt, retiresAt } = definition ?? {};
  if (deprecatedAt !== undefined) ctx.set('Deprecation', `@${deprecatedAt}`);
  if (retiresAt !== undefined) ctx.set('Sunset', new Date(retiresAt * 1000).toUTCString());
}
