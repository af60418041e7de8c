/**
 * What operators send and receive on the admin listener, except accounts (admin-account.ts). Keys, ledger and usage
 * have the shapes that their owners see (tasks/key.ts, ledger.ts, usage.ts).
 */
import { Type } from 'typebox';
import { Currency, usd, usdInput } from '../tasks/fields.ts';
import { ONE_LINE } from '../tasks/key.ts';
import { AdminAccountSchema } from './admin-account.ts';
import { MAX_LISTED_ACCOUNTS, MAX_VIOLATIONS } from '../facts/limits.ts';
import { UsageQuerySchema } from '../tasks/usage.ts';
import { COST_REASONS } from '../facts/cost-reasons.ts';

const Reference = Type.String({
  minLength: 1,
  maxLength: 200,
  pattern: '^[!-~]+$',
  description:
    'A unique reference of the entry. Repeating a reference books nothing and returns 400. If omitted, one is generated.',
});

export const TopUpSchema = Type.Object(
  { usd: usdInput('The amount in decimal USD. Must be above 0.'), reference: Type.Optional(Reference) },
  { additionalProperties: false },
);

export const AdjustSchema = Type.Object(
  {
    usd: Type.String({
      pattern: '^-?[0-9]{1,12}(\\.[0-9]{1,6})?$',
      description:
        'The amount in decimal USD. Must not be 0. A negative amount decreases the balance and cannot exceed the available balance.',
    }),
    reference: Type.Optional(Reference),
    reason: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 500,
        pattern: ONE_LINE,
        description: 'The reason, which is written to the log.',
      }),
    ),
  },
  { additionalProperties: false },
);

export const LedgerChangeSchema = Type.Object(
  {
    reference: Type.String(),
    amount: usd('The booked amount.'),
    currency: Currency,
    account: AdminAccountSchema,
  },
  { additionalProperties: false },
);

export const LedgerVerificationSchema = Type.Object(
  {
    holds: Type.Boolean({ description: 'Whether the ledger adds up.' }),
    violations: Type.Array(
      Type.Object(
        {
          rule: Type.String({ description: 'The rule that is violated.' }),
          subject: Type.String({ description: 'The account, task or entry that violates the rule.' }),
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
    from: Type.String({ description: 'The first UTC day of the range.' }),
    to: Type.String({ description: 'The last UTC day of the range.' }),
    currency: Currency,
    rows: Type.Array(
      Type.Object(
        {
          upstream: Type.String({ description: 'The protocol and host of the upstream.' }),
          model: Type.String(),
          reason: Type.String({ enum: [...COST_REASONS] }),
          tasks: Type.Integer({ minimum: 1 }),
          atMost: usd(
            'The maximum amount that the upstream can bill beyond what the owners of these tasks paid. For `hold_exceeded`: the cost of text calls beyond their holds.',
          ),
        },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false },
);

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
          oldestQueuedSeconds: SecondsOrNull('How long the oldest queued task has been waiting.'),
        },
        { additionalProperties: false },
      ),
      {
        maxItems: MAX_LISTED_ACCOUNTS,
        description: 'The accounts with queued or running tasks, the longest queues first.',
      },
    ),
    outbox: Type.Array(
      Type.Object(
        {
          kind: Type.String(),
          waiting: Count,
          due: Count,
          oldestDueSeconds: SecondsOrNull('How long the oldest due request has been due.'),
        },
        { additionalProperties: false },
      ),
      { maxItems: 100, description: 'The outbox: requests that are pending for Temporal.' },
    ),
  },
  { additionalProperties: false },
);

export const RevokedKeySchema = Type.Object(
  { keyId: Type.String(), revoked: Type.Literal(true) },
  { additionalProperties: false },
);
