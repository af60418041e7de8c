/**
 * Announces the deprecation of a model in every response about it (contract §8), in the standard headers:
 * `Deprecation` (RFC 9745, a structured date) and `Sunset` (RFC 8594, an HTTP date).
 */
import type { ParameterizedContext } from 'koa';
import type { ModelDefinition } from '../../catalogue/definition.ts';
import type { RequestState } from '../app/context.ts';

/** Their descriptions in the reference. */
export const DEPRECATION_HEADERS = {
  Deprecation:
    'The time since when the model is deprecated, as `@` and Unix seconds (RFC 9745). Absent if the model is not deprecated.',
  Sunset: 'The time when the model will be retired, as an HTTP date (RFC 8594). Absent if no retirement is planned.',
};

/** @param definition undefined: the model is no longer in the catalogue. */
export function setDeprecationHeaders(
  ctx: ParameterizedContext<RequestState>,
  definition: Pick<ModelDefinition, 'deprecatedAt' | 'retiresAt'> | undefined,
): void {
  const { deprecatedAt, retiresAt } = definition ?? {};
  if (deprecatedAt !== undefined) ctx.set('Deprecation', `@${deprecatedAt}`);
  if (retiresAt !== undefined) ctx.set('Sunset', new Date(retiresAt * 1000).toUTCString());
}
