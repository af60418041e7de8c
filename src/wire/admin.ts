/**
 * What operators send and get on the admin listener. Accounts, keys, books and usage have the shapes that their owners
 * see (wire/account.ts, key.ts, ledger.ts, usage.ts).
 */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import type { AccountLimits } from '../accounts/accounts.ts';
import { BORNE_REASONS } from '../billing/operator-costs.ts';
import type { OperatorCost } from '../billing/operator-costs.ts';
import type { UsageQuery } from '../billing/usage.ts';
import { MAX_VIOLATIONS } from '../billing/verify.ts';
import { formatUsd, parseUsd } from '../domain/money.ts';
import { MAX_TOLD_ACCOUNTS } from '../tasks/queues.ts';
import { AccountSchema } from './account.ts';
import { Currency, usd, usdGiven } from './fields.ts';
import { ONE_LINE } from './key.ts';
import { UsageQuerySchema } from './usage.ts';

/** Far above anything that makes sense, and far below where integers end. */
const MAX_RATE = 10_000_000;
const MAX_TASKS = 1_000_000;
const MAX_TOKENS = 1_000_000_000;
const MAX_BYTES = 1_000_000_000_000_000;

const Name = Type.String({
  minLength: 1,
  maxLength: 100,
  pattern: ONE_LINE,
  description: 'What you call it; one line.',
});

const Limits = Type.Object(
  {
    createsPerMinute: Type.Optional(
      Type.Integer({ minimum: 1, maximum: MAX_RATE, description: 'Creating requests per minute; as many at once.' }),
    ),
    readsPerMinute: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_RATE, description: 'All other requests.' })),
    runningTasks: Type.Optional(
      Type.Integer({ minimum: 0, maximum: MAX_TASKS, description: 'Tasks that run at once; 0: all of them wait.' }),
    ),
    queuedTasks: Type.Optional(
      Type.Integer({ minimum: 0, maximum: MAX_TASKS, description: 'Tasks that wait behind them.' }),
    ),
    persistentBytes: Type.Optional(
      Type.Integer({ minimum: 0, maximum: MAX_BYTES, description: 'Bytes of persistent storage.' }),
    ),
    textRequestsPerMinute: Type.Optional(
      Type.Integer({ minimum: 1, maximum: MAX_RATE, description: 'Text requests per minute; as many at once.' }),
    ),
    textTokensPerMinute: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_TOKENS,
        description: 'Tokens of text per minute, input and output together.',
      }),
    ),
    textStreams: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: MAX_TASKS,
        description: 'Text calls under way at once, streamed or not; 0: none.',
      }),
    ),
  },
  { additionalProperties: false, description: 'What is not named stays as it is, or begins with the default.' },
);

/** From the names of the wire to those of the room. */
export function limitsOf(limits: Static<typeof Limits> = {}): Partial<AccountLimits> {
  const { createsPerMinute, readsPerMinute, runningTasks, queuedTasks, persistentBytes } = limits;
  const { textRequestsPerMinute, textTokensPerMinute, textStreams } = limits;
  return {
    ...(createsPerMinute === undefined ? {} : { createsPerMinute }),
    ...(readsPerMinute === undefined ? {} : { readsPerMinute }),
    ...(runningTasks === undefined ? {} : { runningCap: runningTasks }),
    ...(queuedTasks === undefined ? {} : { queueCap: queuedTasks }),
    ...(persistentBytes === undefined ? {} : { storageCapBytes: persistentBytes }),
    ...(textRequestsPerMinute === undefined ? {} : { textRequestsPerMinute }),
    ...(textTokensPerMinute === undefined ? {} : { textTokensPerMinute }),
    ...(textStreams === undefined ? {} : { textStreamsCap: textStreams }),
  };
}

export const CreateAccountSchema = Type.Object(
  {
    name: Name,
    usd: Type.Optional(usdGiven('What it has to begin with, in decimal USD.')),
    limits: Type.Optional(Limits),
  },
  { additionalProperties: false },
);

export const UpdateAccountSchema = Type.Object(
  { name: Type.Optional(Name), limits: Type.Optional(Limits) },
  { additionalProperties: false, minProperties: 1 },
);

export const AccountPageQuerySchema = Type.Object(
  {
    size: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, 'x-clamped': true, description: 'Accounts on a page; default 20.' }),
    ),
    cursor: Type.Optional(
      Type.String({ minLength: 1, maxLength: 64, description: '`nextCursor` of the page before.' }),
    ),
    search: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 100,
        pattern: ONE_LINE,
        description: 'Only the account of this id, and those with this in their names.',
      }),
    ),
  },
  { additionalProperties: false },
);

export const AccountPageSchema = Type.Object(
  {
    size: Type.Integer({ minimum: 1, maximum: 100 }),
    accounts: Type.Array(AccountSchema, { maxItems: 100, description: 'Oldest first.' }),
    nextCursor: Type.Optional(Type.String({ description: 'Gives the next page; absent on the last one.' })),
  },
  { additionalProperties: false },
);

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

/** @returns micro-USD with its sign; undefined where the text is no amount. */
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
    account: AccountSchema,
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

/** What the operator may have to pay although nobody was charged (contract §7 "Money"). */
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
          reason: Type.String({ enum: [...BORNE_REASONS] }),
          tasks: Type.Integer({ minimum: 1 }),
          atMost: usd('What was held for these tasks, and released.'),
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
