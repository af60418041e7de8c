/**
 * Accounts as operators send and receive them: what their owners see (account.ts), and in addition why one is
 * suspended, which is for operators alone.
 */
import { ONE_LINE } from '../tasks/key.ts';
import { Type } from 'typebox';
import { usdInput } from '../tasks/fields.ts';
import { AccountSchema } from '../tasks/account.ts';
import type { Static } from 'typebox';

/** Far above any reasonable value, and far below the limit of integers. */
const MAX_RATE = 10_000_000;

const MAX_TASKS = 1_000_000;

const MAX_TOKENS = 1_000_000_000;

const MAX_BYTES = 1_000_000_000_000_000;

/** One line, and not of blanks only. */
const NOT_BLANK_LINE = `^(?=.*\\S)${ONE_LINE.slice(1)}`;

const Name = Type.String({
  minLength: 1,
  maxLength: 100,
  pattern: NOT_BLANK_LINE,
  description: 'What you call it; one line, and not only white space.',
});

export const Limits = Type.Object(
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
  {
    additionalProperties: false,
    description: 'Fields that are absent stay unchanged, or get the default on creation.',
  },
);

export const CreateAccountSchema = Type.Object(
  {
    name: Name,
    usd: Type.Optional(usdInput('The initial balance, in decimal USD.')),
    limits: Type.Optional(Limits),
  },
  { additionalProperties: false },
);

export const UpdateAccountSchema = Type.Object(
  { name: Type.Optional(Name), limits: Type.Optional(Limits) },
  { additionalProperties: false, minProperties: 1 },
);

export const SuspendAccountSchema = Type.Object(
  {
    reason: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 500,
        pattern: NOT_BLANK_LINE,
        description: 'The reason, for operators: the account never sees it. Absent: the previous reason stays.',
      }),
    ),
  },
  { additionalProperties: false },
);

export const AdminAccountSchema = Type.Object(
  {
    ...AccountSchema.properties,
    suspensionReason: Type.Optional(
      Type.String({ description: 'Why it is suspended, if an operator gave a reason. Its owner does not see it.' }),
    ),
  },
  { additionalProperties: false },
);

/** Returned by a create alone: nothing else that operators read shows a secret. */
export const CreatedAccountSchema = Type.Object(
  {
    ...AdminAccountSchema.properties,
    webhookKey: Type.Object(
      {
        secret: Type.String({ description: 'Its UTF-8 bytes are the key of the signatures.' }),
        whsec: Type.String({ description: 'The same key in the spelling of Standard Webhooks libraries.' }),
      },
      { additionalProperties: false, description: 'Signs the callbacks of the account.' },
    ),
  },
  { additionalProperties: false },
);

export type WireAdminAccount = Static<typeof AdminAccountSchema>;

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
    accounts: Type.Array(AdminAccountSchema, { maxItems: 100, description: 'Oldest first.' }),
    nextCursor: Type.Optional(Type.String({ description: 'Gives the next page; absent on the last one.' })),
  },
  { additionalProperties: false },
);
