/** Responses where a path has no route for the request's method: they list the methods it takes (RFC 9110 §10.2.1). */
import type { ParameterizedContext } from 'koa';
import { RequestError } from '../app/errors.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/**
 * Answers OPTIONS, which every path takes, and rejects any other method.
 *
 * @param taken the methods that the path has routes for.
 * @throws {RequestError} 405.
 */
export function answerOtherMethod(ctx: ParameterizedContext, taken: Iterable<string>): void {
  const methods = new Set(taken).add('OPTIONS');
  if (methods.has('GET')) methods.add('HEAD');
  const allow = METHODS.filter((method) => methods.has(method)).join(', ');
  if (ctx.method === 'OPTIONS') {
    ctx.status = 204;
    ctx.set('Allow', allow);
    return;
  }
  throw new RequestError('method_not_allowed', undefined, { headers: { Allow: allow } });
}
