/**
 * `/admin/accounts`: accounts as operators manage them: created, listed, limited, suspended.
 */
import {
  createAccount,
  listAccountPage,
  readAccount,
  renameAccount,
  setSuspended,
  updateLimits,
} from '../../accounts/accounts.ts';
import { topUp } from '../../billing/ledger.ts';
import { createFirstSigningSecret } from '../../callbacks/signing.ts';
import { newId } from '../../domain/ids.ts';
import { parseUsd } from '../../domain/money.ts';
import {
  AccountPageQuerySchema,
  AccountPageSchema,
  AdminAccountSchema,
  CreateAccountSchema,
  CreatedAccountSchema,
  SuspendAccountSchema,
  UpdateAccountSchema,
} from '@darkroom/api/admin/admin-account';
import { limitsOf, presentAdminAccount } from '../../presenters/account.ts';
import type { WireAdminAccount } from '@darkroom/api/admin/admin-account';
import { ACCOUNT_PARAMS, idOf, logChange } from './admin-request.ts';
import type { HttpContext } from '../app/context.ts';
import { unknownCursor } from '../app/cursor.ts';
import { defineRoute } from '../app/route.ts';
import type { Route, RouteRequest } from '../app/route.ts';

const DEFAULT_PAGE_SIZE = 20;

const shared = { tag: 'Administration', access: 'operator' } as const;
const one = { ...shared, params: ACCOUNT_PARAMS, errors: ['NOT_FOUND'] } as const;
const accountResponse = { kind: 'data', schema: AdminAccountSchema } as const;

export function adminAccountRoutes(http: HttpContext): readonly Route[] {
  const { database, webhookKeys } = http;

  const setSuspension = async (
    { ctx, params }: Pick<RouteRequest<unknown, unknown>, 'ctx' | 'params'>,
    isSuspended: boolean,
    reason?: string,
  ): Promise<WireAdminAccount> => {
    const accountId = idOf(params, 'accountId');
    await database.transaction((transaction) => setSuspended(transaction, accountId, isSuspended, reason));
    logChange(http, ctx, isSuspended ? 'suspend account' : 'resume account', { accountId, reason });
    // Waiting tasks of a suspended account may be launched again.
    http.wakeLauncher();
    return presentAdminAccount(await readAccount(database, accountId));
  };

  return [
    defineRoute({
      ...shared,
      method: 'GET',
      path: '/admin/accounts',
      operationId: 'adminListAccounts',
      summary: 'List accounts',
      query: AccountPageQuerySchema,
      response: { kind: 'data', schema: AccountPageSchema },
      async handle({ query: { size = DEFAULT_PAGE_SIZE, cursor, search } }) {
        if (cursor !== undefined && !/^[\w-]+$/.test(cursor)) {
          throw unknownCursor();
        }
        const accounts = await listAccountPage(database, size + 1, { after: cursor, search });
        const shown = accounts.slice(0, size);
        const last = accounts.length > size ? shown.at(-1) : undefined;
        return {
          size,
          accounts: shown.map(presentAdminAccount),
          ...(last === undefined ? {} : { nextCursor: last.id }),
        };
      },
    }),
    defineRoute({
      ...shared,
      method: 'POST',
      path: '/admin/accounts',
      operationId: 'adminCreateAccount',
      summary: 'Create an account',
      description:
        'The new account has no API key: create one with `POST /admin/accounts/{accountId}/keys`. It has a signing secret for its callbacks, which only this response shows to operators; its owner can read it at `GET /v1/account/webhook-key`.',
      body: {
        kind: 'json',
        schema: CreateAccountSchema,
        examples: {
          studio: { summary: 'With an initial balance', value: { name: 'studio', usd: '25' } },
          project: {
            summary: 'In the organisation of another account',
            value: { name: 'studio, tests', organisationId: 'acc_0Pv9XkZ2mQ' },
          },
        },
      },
      response: { kind: 'data', schema: CreatedAccountSchema },
      async handle({ ctx, body: { name, usd, limits, organisationId } }) {
        const amountMicroUsd = usd === undefined ? 0n : (parseUsd(usd) ?? 0n);
        const { account, webhookKey } = await database.transaction(async (transaction) => {
          const accountId = await createAccount(transaction, name, limitsOf(limits), organisationId);
          if (amountMicroUsd > 0n) await topUp(transaction, accountId, amountMicroUsd, newId('topup'));
          const key = await createFirstSigningSecret(transaction, webhookKeys, accountId);
          return { account: await readAccount(transaction, accountId), webhookKey: key };
        });
        logChange(http, ctx, 'create account', { accountId: account.id, organisationId, usd });
        return { ...presentAdminAccount(account), webhookKey };
      },
    }),
    defineRoute({
      ...one,
      method: 'GET',
      path: '/admin/accounts/{accountId}',
      operationId: 'adminGetAccount',
      summary: 'Get an account',
      response: accountResponse,
      handle: async ({ params }) => presentAdminAccount(await readAccount(database, idOf(params, 'accountId'))),
    }),
    defineRoute({
      ...one,
      method: 'PATCH',
      path: '/admin/accounts/{accountId}',
      operationId: 'adminUpdateAccount',
      summary: 'Update an account',
      description:
        'Changes the name or the limits. Omitted fields stay unchanged. New rate limits apply within a second. Tasks that are already running above a lowered limit continue.',
      body: { kind: 'json', schema: UpdateAccountSchema },
      response: accountResponse,
      async handle({ ctx, params, body: { name, limits } }) {
        const accountId = idOf(params, 'accountId');
        const account = await database.transaction(async (transaction) => {
          if (name !== undefined) await renameAccount(transaction, accountId, name);
          if (limits !== undefined) await updateLimits(transaction, accountId, limitsOf(limits));
          return readAccount(transaction, accountId);
        });
        logChange(http, ctx, 'update account', { accountId });
        // A raised cap admits waiting tasks.
        http.wakeLauncher();
        return presentAdminAccount(account);
      },
    }),
    defineRoute({
      ...one,
      method: 'POST',
      path: '/admin/accounts/{accountId}/suspend',
      operationId: 'adminSuspendAccount',
      summary: 'Suspend an account',
      description:
        'Within a second, requests of the account are rejected with 403. Running tasks finish; queued tasks stay queued.',
      body: { kind: 'json', schema: SuspendAccountSchema, isOptional: true },
      response: accountResponse,
      handle: (request) => setSuspension(request, true, request.body.reason?.trim()),
    }),
    defineRoute({
      ...one,
      method: 'POST',
      path: '/admin/accounts/{accountId}/resume',
      operationId: 'adminResumeAccount',
      summary: 'Resume an account',
      description: 'Lifts the suspension and clears its reason.',
      response: accountResponse,
      handle: (request) => setSuspension(request, false),
    }),
  ];
}
