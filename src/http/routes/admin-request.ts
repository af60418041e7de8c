/**
 * What the operator routes have in common: parsing the account or key in the path, and logging what an operator
 * changed.
 */
import type { ParameterizedContext } from 'koa';
import type { HttpContext, RequestState } from '../app/context.ts';
import { notFound } from '../app/errors.ts';

/** Ids of accounts and keys; an id of another form cannot exist and is not looked up in the database. */
const ID = /^[\w-]{1,64}$/;

export const ACCOUNT_PARAMS = { accountId: 'The account id, as returned by `GET /admin/accounts`.' };
export const KEY_PARAMS = { keyId: 'The key id, as returned by `GET /admin/accounts/{accountId}/keys`.' };

/** @throws {RequestError} 404: nothing has an id of that form. */
export function idOf(params: Readonly<Record<string, string>>, name: 'accountId' | 'keyId'): string {
  const id = params[name] ?? '';
  if (!ID.test(id)) throw notFound();
  return id;
}

/** Logs what an operator changed: never a key, a name or a secret. */
export function logChange(
  http: HttpContext,
  ctx: ParameterizedContext<RequestState>,
  operation: string,
  fields: Readonly<Record<string, string | undefined>>,
): void {
  const { requestId } = ctx.state;
  const client = http.clientAddress(ctx.req);
  http.logger.info({ operation, ...fields, client, requestId }, 'operator made a change');
}
