/**
 * What operators send and receive on the admin listener, beside accounts (admin-account.ts). Keys, ledger and usage
 * have the shapes that their owners see (wire/key.ts, ledger.ts, usage.ts).
 */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { COST_REASONS } from '../billing/operator-costs.ts';
import type { OperatorCost } from '../billing/operator-costs.ts';
import type { UsageQuery } from '../billing/usage.ts';
import { MAX_VIOLATIONS } from '../billing/verify.ts';
import { formatUsd, parseUsd } from '../domain/money.ts';
import { MAX_TOLD_ACCOUNTS } from '../tasks/outbox/queues.ts';
import { AdminAccountSchema } from './admin-account.ts';
import { Currency, usd, usdGiven } from './fields.ts';
import { ONE_LINE } from './key.ts';
import { UsageQuerySchema } from './usage.ts';

const Reference = Type.String({
  minLength: 1,
  maxLength: 200,
  pattern: '^[!-~]+$',
  description: 'Names it for ever: the same one again books nothing and is 400. Absent: one is made.',
});

export const TopUpSchema = Type.Object(
  { usd: usdGiven('Decimal USD, above 0.'), reference: Type.Optional(Reference) },
  { additionalProperties: false },
);

export const AdjustSchema = Type.Object(
  {
    usd: Type.String({
      pattern: '^-?[0-9]{1,12}(\\.[0-9]{1,6})?$',
      description: 'Decimal USD, not 0. Negative takes something; never more than is available.',
    }),
    reference: Type.Optional(Reference),
    reason: Type.Optional(
      Type.String({ minLength: 1, maxLength: 500, pattern: ONE_LINE, description: 'Why; it goes to the log.' }),
    ),
  },
  { additionalProperties: false },
);

/** @returns micro-USD with its sign; undefined where the text is not an amount. */
export function parseSignedUsd(text: string): bigint | undefined {
  if (!text.startsWith('-')) return parseUsd(text);
  const amount = parseUsd(text.slice(1));
  return amount === undefined ? undefined : -amount;
}

export const BookedSchema = Type.Object(
  {
    reference: Type.String(),
    amount: usd('What was booked.'),
    currency: Currency,
    account: AdminAccountSchema,
  },
  { additionalProperties: false },
);

export const LedgerProofSchema = Type.Object(
  {
    holds: Type.Boolean({ description: 'Whether everything adds up.' }),
    violations: Type.Array(
      Type.Object(
        {
          rule: Type.String({ description: 'What should hold.' }),
          subject: Type.String({ description: 'The account, task or entry of which it does not.' }),
          detail: Type.String(),
        },
        { additionalProperties: false },
      ),
      { maxItems: MAX_VIOLATIONS },
    ),
  },
  { additionalProperties: false },
);

export const OperatorCostsQuerySchema = Type.Object(
  { from: UsageQuerySchema.properties.from, to: UsageQuerySchema.properties.to },
  { additionalProperties: false },
);

/** What the operator may have to pay although no account was charged (contract §7 "Money"). */
export const OperatorCostsSchema = Type.Object(
  {
    from: Type.String({ description: 'The first UTC day that is counted.' }),
    to: Type.String({ description: 'The last one.' }),
    currency: Currency,
    rows: Type.Array(
      Type.Object(
        {
          upstream: Type.String({ description: 'Its protocol and host.' }),
          model: Type.String(),
          reason: Type.String({ enum: [...COST_REASONS] }),
          tasks: Type.Integer({ minimum: 1 }),
          atMost: usd(
            'The most that the upstream can bill beyond what the owners of these tasks paid; of `hold_exceeded`: what text calls cost beyond their holds.',
          ),
        },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false },
);

export function presentOperatorCosts(
  { from, to }: UsageQuery,
  costs: readonly OperatorCost[],
): Static<typeof OperatorCostsSchema> {
  return {
    from,
    to,
    currency: 'USD',
    rows: costs.map(({ upstream, model, reason, tasks, atMostMicroUsd }) => ({
      upstream,
      model,
      reason,
      tasks,
      atMost: formatUsd(atMostMicroUsd),
    })),
  };
}

const Count = Type.Integer({ minimum: 0 });
const SecondsOrNull = (description: string) =>
  Type.Unsafe<number | null>({ type: ['number', 'null'], minimum: 0, description });

export const QueuesSchema = Type.Object(
  {
    accounts: Type.Array(
      Type.Object(
        {
          accountId: Type.String(),
          name: Type.String(),
          isSuspended: Type.Boolean(),
          queued: Count,
          queueCap: Count,
          running: Count,
          runningCap: Count,
          oldestQueuedSeconds: SecondsOrNull('How long the first of those that wait has been waiting.'),
        },
        { additionalProperties: false },
      ),
      { maxItems: MAX_TOLD_ACCOUNTS, description: 'With something queued or running, the longest queues first.' },
    ),
    outbox: Type.Array(
      Type.Object(
        {
          kind: Type.String(),
          waiting: Count,
          due: Count,
          oldestDueSeconds: SecondsOrNull('For how long the oldest of those that are due has been due.'),
        },
        { additionalProperties: false },
      ),
      { maxItems: 100, description: 'What Temporal has still to be told.' },
    ),
  },
  { additionalProperties: false },
);

export const RevokedKeySchema = Type.Object(
  { keyId: Type.String(), revoked: Type.Literal(true) },
  { additionalProperties: false },
);
