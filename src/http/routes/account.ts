/**
 * `/v1/account`: the account's balance, limits and usage (contract §7).
 */
import type { Static } from 'typebox';
import { readAccount } from '../../accounts/accounts.ts';
import { listFailingReceivers } from '../../accounts/callback-receivers.ts';
import { listLedger } from '../../billing/ledger-list.ts';
import { readUsage } from '../../billing/usage.ts';
import type { UsageQuery } from '../../billing/usage.ts';
import { formatUsd } from '../../domain/money.ts';
import { AccountSchema } from '@darkroom/api/tasks/account';
import { presentAccount, presentCallbackProblems } from '../../presenters/account.ts';
import { LedgerQuerySchema, LedgerSchema } from '@darkroom/api/tasks/ledger';
import { presentLedger, readLedgerCursor } from '../../presenters/ledger.ts';
import type { WireLedger } from '@darkroom/api/tasks/ledger';
import { rangeProblem } from '@darkroom/api/tasks/query-range';
import { UsageQuerySchema, UsageSchema } from '@darkroom/api/tasks/usage';
import { presentUsage, usageQueryOf } from '../../presenters/usage.ts';
import type { HttpContext } from '../app/context.ts';
import { unknownCursor } from '../app/cursor.ts';
import { invalidRequest } from '../app/errors.ts';
import { defineRoute } from '../app/route.ts';
import type { Route } from '../app/route.ts';

const DEFAULT_PAGE_SIZE = 20;

export function accountRoutes(http: HttpContext): readonly Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/v1/account',
      operationId: 'getAccount',
      tag: 'Account',
      summary: 'Get the account',
      description:
        'Returns the balance, the limits and their usage. `callbackProblems` lists the receivers that currently fail to accept callbacks.',
      access: 'billing:read',
      response: { kind: 'data', schema: AccountSchema },
      responseHeaders: {
        [`${http.config.callbacks.headerPrefix}-Callback-Failing`]:
          'The number of receivers of the account that fail to accept callbacks. Absent if there are none. Sent with every response to a key of the account.',
      },
      async handle({ caller: { accountId } }) {
        const [account, failing] = await Promise.all([
          readAccount(http.database, accountId),
          listFailingReceivers(http.database, accountId),
        ]);
        const { oneAttemptAfterDays } = http.config.callbacks;
        const callbackProblems = presentCallbackProblems(failing, oneAttemptAfterDays, http.now());
        const storagePrice = formatUsd(http.config.storagePriceMicroUsdPerGbMonth);
        return { ...presentAccount(account), storagePrice, callbackProblems };
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/account/ledger',
      operationId: 'listLedger',
      tag: 'Account',
      summary: 'List ledger entries',
      description:
        'Returns the newest entries first. Follow `nextCursor` for older ones. New entries do not shift pages that follow a cursor.',
      access: 'billing:read',
      query: LedgerQuerySchema,
      isExpensive: true,
      response: { kind: 'data', schema: LedgerSchema },
      handle: ({ caller, query }) => answerLedger(http, caller.accountId, query),
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/account/usage',
      operationId: 'getUsage',
      tag: 'Account',
      summary: 'Get usage',
      description:
        'Returns the captured amounts, grouped by UTC day, model and key in any combination. Storage has no model and no key.',
      access: 'billing:read',
      query: UsageQuerySchema,
      isExpensive: true,
      response: { kind: 'data', schema: UsageSchema },
      async handle({ caller, query }) {
        const usageQuery = requireUsageQuery(http, query);
        return presentUsage(usageQuery, await readUsage(http.database, caller.accountId, usageQuery));
      },
    }),
  ];
}

/** A page of an account's ledger, for its owner and for operators. */
export async function answerLedger(
  http: HttpContext,
  accountId: string,
  query: Static<typeof LedgerQuerySchema>,
): Promise<WireLedger> {
  const { cursor, size = DEFAULT_PAGE_SIZE, kind, from, to, keyId, reference } = query;
  const problem = rangeProblem(['from', from], ['to', to]);
  if (problem !== undefined) throw invalidRequest(`invalid request: ${problem}`);
  const { entries, hasMore } = await listLedger(http.database, accountId, {
    size,
    after: cursor === undefined ? undefined : requireLedgerPosition(cursor),
    kinds: kind,
    from: from === undefined ? undefined : from * 1000,
    to: to === undefined ? undefined : to * 1000,
    keyId,
    reference,
  });
  return presentLedger(size, entries, hasMore);
}

/** @throws {RequestError} 400: there are no such days. */
export function requireUsageQuery(http: HttpContext, query: Static<typeof UsageQuerySchema>): UsageQuery {
  const usageQuery = usageQueryOf(query, http.now());
  if ('problem' in usageQuery) throw invalidRequest(`invalid request: ${usageQuery.problem}`);
  return usageQuery;
}

function requireLedgerPosition(cursor: string) {
  const position = readLedgerCursor(cursor);
  if (position === undefined) throw unknownCursor();
  return position;
}
