/**
 * Accounts as operators send and receive them: what their owners see (account.ts), and in addition its organisation and
 * wallet, and why one is suspended, which is for operators alone.
 */
import { ONE_LINE } from '../tasks/key.ts';
import { Type } from 'typebox';
import { pageQuery, usdInput } from '../tasks/fields.ts';
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
  description: 'The name of the account, in one line. It must not consist of white space only.',
});

export const Limits = Type.Object(
  {
    createsPerMinute: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_RATE,
        description: 'Create requests per minute. This is also the burst size.',
      }),
    ),
    readsPerMinute: Type.Optional(
      Type.Integer({ minimum: 1, maximum: MAX_RATE, description: 'All other requests per minute.' }),
    ),
    runningTasks: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: MAX_TASKS,
        description: 'The maximum number of tasks that run at once. With 0, all tasks wait.',
      }),
    ),
    queuedTasks: Type.Optional(
      Type.Integer({ minimum: 0, maximum: MAX_TASKS, description: 'The maximum number of queued tasks.' }),
    ),
    persistentBytes: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: MAX_BYTES,
        description: 'The maximum number of bytes in persistent storage.',
      }),
    ),
    textRequestsPerMinute: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_RATE,
        description: 'Text requests per minute. This is also the burst size.',
      }),
    ),
    textTokensPerMinute: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_TOKENS,
        description: 'Text tokens per minute, input and output together.',
      }),
    ),
    textStreams: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: MAX_TASKS,
        description: 'The maximum number of concurrent text calls, streamed or not. With 0, none are accepted.',
      }),
    ),
  },
  {
    additionalProperties: false,
    description: 'The limits. Omitted fields stay unchanged, or get the default on creation.',
  },
);

export const CreateAccountSchema = Type.Object(
  {
    name: Name,
    usd: Type.Optional(usdInput('The initial balance, in decimal USD. It is added to the wallet of the account.')),
    organisationId: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        pattern: '^[A-Za-z0-9_-]+$',
        description:
          'The organisation whose wallet the account shares, for good: the id of its first account. Omitted: the account gets an organisation and a wallet of its own.',
      }),
    ),
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
        description: 'The reason, which is visible to operators only. If omitted, a previous reason is kept.',
      }),
    ),
  },
  { additionalProperties: false },
);

export const AdminAccountSchema = Type.Object(
  {
    ...AccountSchema.properties,
    organisationId: Type.String({
      description: 'The id of the first account of its organisation: its own, unless it was created in another one.',
    }),
    walletId: Type.String({
      description:
        'The id of the account that has the money: its own, unless it shares the wallet of its organisation. `balance`, `held` and `available` are those of the wallet.',
    }),
    suspensionReason: Type.Optional(
      Type.String({
        description: 'The reason for the suspension, if an operator gave one. It is not visible to the owner.',
      }),
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
        secret: Type.String({ description: 'The signing secret. Its UTF-8 bytes are the HMAC key of the signatures.' }),
        whsec: Type.String({ description: 'The same secret in the format that Standard Webhooks libraries expect.' }),
      },
      { additionalProperties: false, description: 'The signing secret of the callbacks of the account.' },
    ),
  },
  { additionalProperties: false },
);

export type WireAdminAccount = Static<typeof AdminAccountSchema>;

export const AccountPageQuerySchema = Type.Object(
  {
    ...pageQuery('accounts', 64),
    search: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 100,
        pattern: ONE_LINE,
        description: 'Only the account with this id and accounts whose names contain this text.',
      }),
    ),
  },
  { additionalProperties: false },
);

export const AccountPageSchema = Type.Object(
  {
    size: Type.Integer({ minimum: 1, maximum: 100 }),
    accounts: Type.Array(AdminAccountSchema, { maxItems: 100, description: 'The accounts, oldest first.' }),
    nextCursor: Type.Optional(
      Type.String({ description: 'Pass it as `cursor` to get the next page. Absent on the last page.' }),
    ),
  },
  { additionalProperties: false },
);
