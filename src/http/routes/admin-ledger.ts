/**
 * Money as operators manage it: payments, corrections, what an account was charged for, the verification that
 * everything adds up (contract §7 "Money"), what tasks and text calls cost the operator, and the margin that is left.
 */
import { readAccount } from '../../accounts/accounts.ts';
import { recordAdjustment, recordTopUp } from '../../billing/ledger.ts';
import type { LedgerChange } from '../../billing/ledger.ts';
import { readExceededHolds, readOperatorCosts } from '../../billing/operator-costs.ts';
import { readUsage } from '../../billing/usage.ts';
import { verifyLedger } from '../../billing/verify.ts';
import type { LedgerViolation } from '../../billing/verify.ts';
import { formatUsd, parseUsd } from '../../domain/money.ts';
import { presentAdminAccount } from '../../presenters/account.ts';
import { readMargins } from '../../billing/task-costs.ts';
import { parseSignedUsd } from '../../presenters/ledger.ts';
import { presentAdminUsage, presentMargins, presentOperatorCosts } from '../../presenters/usage.ts';
import type { HttpContext } from '../app/context.ts';
import { invalidRequest } from '../app/errors.ts';
import { defineRoute } from '../app/route.ts';
import type { Route } from '../app/route.ts';
import { answerLedger, requireUsageQuery } from './account.ts';
import { ACCOUNT_PARAMS, idOf, logChange } from './admin-request.ts';
import {
  AdjustSchema,
  LedgerChangeSchema,
  LedgerVerificationSchema,
  OperatorCostsQuerySchema,
  OperatorCostsSchema,
  TopUpSchema,
} from '@darkroom/api/admin/admin';
import { MarginsQuerySchema, MarginsSchema } from '@darkroom/api/admin/margins';
import { marginsCsv } from '@darkroom/api/facts/margins-csv';
import { LedgerQuerySchema, LedgerSchema } from '@darkroom/api/tasks/ledger';
import { AdminUsageSchema, UsageQuerySchema } from '@darkroom/api/tasks/usage';

const shared = { tag: 'Administration', access: 'operator' } as const;
const one = { ...shared, params: ACCOUNT_PARAMS, errors: ['NOT_FOUND'] } as const;

export function adminLedgerRoutes(http: HttpContext): readonly Route[] {
  const { database } = http;
  /** One verification at a time: a request that arrives meanwhile gets its result too. */
  let verification: Promise<readonly LedgerViolation[]> | undefined;

  const presentLedgerChange = async (accountId: string, amountMicroUsd: bigint, { reference }: LedgerChange) => ({
    reference,
    amount: formatUsd(amountMicroUsd),
    currency: 'USD',
    account: presentAdminAccount(await readAccount(database, accountId)),
  });

  return [
    defineRoute({
      ...one,
      method: 'POST',
      path: '/admin/accounts/{accountId}/top-up',
      operationId: 'adminTopUp',
      summary: 'Top up an account',
      description: 'Send a `reference` to make retries safe: a top-up with the same reference is never booked twice.',
      body: { kind: 'json', schema: TopUpSchema },
      response: { kind: 'data', schema: LedgerChangeSchema },
      async handle({ ctx, params, body: { usd, reference } }) {
        const accountId = idOf(params, 'accountId');
        const amountMicroUsd = requireAmount(parseUsd(usd));
        const booked = await recordTopUp(database, { accountId, amountMicroUsd, reference });
        logChange(http, ctx, 'top up', { accountId, usd, reference: booked.reference });
        return presentLedgerChange(accountId, amountMicroUsd, booked);
      },
    }),
    defineRoute({
      ...one,
      method: 'POST',
      path: '/admin/accounts/{accountId}/adjust',
      operationId: 'adminAdjust',
      summary: 'Adjust the balance of an account',
      description: 'Increases or decreases the balance. A decrease cannot exceed the available balance.',
      body: { kind: 'json', schema: AdjustSchema },
      response: { kind: 'data', schema: LedgerChangeSchema },
      async handle({ ctx, params, body: { usd, reference, reason } }) {
        const accountId = idOf(params, 'accountId');
        const amountMicroUsd = requireAmount(parseSignedUsd(usd));
        const booked = await recordAdjustment(database, { accountId, amountMicroUsd, reference });
        logChange(http, ctx, 'adjust', { accountId, usd, reference: booked.reference, reason });
        return presentLedgerChange(accountId, amountMicroUsd, booked);
      },
    }),
    defineRoute({
      ...one,
      method: 'GET',
      path: '/admin/accounts/{accountId}/ledger',
      operationId: 'adminListLedger',
      summary: 'List ledger entries of an account',
      query: LedgerQuerySchema,
      response: { kind: 'data', schema: LedgerSchema },
      async handle({ params, query }) {
        const { id } = await readAccount(database, idOf(params, 'accountId'));
        return answerLedger(http, id, query);
      },
    }),
    defineRoute({
      ...one,
      method: 'GET',
      path: '/admin/accounts/{accountId}/usage',
      operationId: 'adminGetUsage',
      summary: 'Get usage of an account',
      query: UsageQuerySchema,
      response: { kind: 'data', schema: AdminUsageSchema },
      async handle({ params, query }) {
        const { id } = await readAccount(database, idOf(params, 'accountId'));
        const usageQuery = requireUsageQuery(http, query);
        const [rows, exceeded] = await Promise.all([
          readUsage(database, id, usageQuery),
          readExceededHolds(database, id, usageQuery),
        ]);
        return presentAdminUsage(usageQuery, rows, exceeded);
      },
    }),
    defineRoute({
      ...shared,
      method: 'GET',
      path: '/admin/ledger/verify',
      operationId: 'adminVerifyLedger',
      summary: 'Verify the ledger',
      description:
        'Checks that the ledgers of all accounts add up, in one snapshot of the database. Takes seconds for millions of entries.',
      response: { kind: 'data', schema: LedgerVerificationSchema },
      async handle() {
        verification ??= verifyLedger(database).finally(() => {
          verification = undefined;
        });
        const violations = await verification;
        return { holds: violations.length === 0, violations };
      },
    }),
    defineRoute({
      ...shared,
      method: 'GET',
      path: '/admin/costs',
      operationId: 'adminListOperatorCosts',
      summary: 'Get costs that are not charged to accounts',
      description:
        'Returns what the operator may have to pay without an account being charged. This includes tasks that failed or were cancelled after their provider received, or may have received, the work, less what their owners paid: timeouts, unknown outcomes, cancellations, and results without a usable file. It also includes text calls whose upstream reported more usage than was held (`hold_exceeded`), and attempts at responses in the background whose process died (`attempt_lost`).',
      query: OperatorCostsQuerySchema,
      response: { kind: 'data', schema: OperatorCostsSchema },
      async handle({ query }) {
        const days = requireUsageQuery(http, query);
        return presentOperatorCosts(days, await readOperatorCosts(database, days));
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/admin/margins',
      operationId: 'adminGetMargins',
      tag: 'Administration',
      summary: 'Get costs and margins',
      description:
        'Returns what was captured for tasks and text calls, what they cost the operator, and the margin. What text calls cost is unknown, unless the model is embedded. `GET /admin/costs` lists what providers may bill for work that no account paid; such tasks are part of this report too, so the two are not added up.',
      access: 'operator',
      query: MarginsQuerySchema,
      response: { kind: 'data', schema: MarginsSchema },
      otherResponses: {
        200: { description: 'With `format=csv`: the rows, with a header line.', mimeTypes: ['text/csv'] },
      },
      async handle({ ctx, query: { groupBy, format, ...range } }) {
        const query = { ...requireUsageQuery(http, range), groupBy: groupBy ?? (['model'] as const) };
        const margins = presentMargins(query, await readMargins(http.database, query));
        if (format !== 'csv') return margins;
        ctx.status = 200;
        ctx.type = 'text/csv; charset=utf-8';
        ctx.attachment(`margins-${query.from}-${query.to}.csv`);
        ctx.body = marginsCsv(margins);
        return undefined;
      },
    }),
  ];
}

/** @throws {RequestError} 400: the schema rejects everything that is not an amount, but it accepts zero. */
function requireAmount(amountMicroUsd: bigint | undefined): bigint {
  if (amountMicroUsd === undefined || amountMicroUsd === 0n) {
    throw invalidRequest('invalid request: usd: got 0, want an amount');
  }
  return amountMicroUsd;
}
