/**
 * An account as its owner sees it (contract §7 `GET /account`).
 */
import { Type } from 'typebox';
import { Currency, UnixSeconds, usd } from './fields.ts';
import { MAX_LISTED_RECEIVERS } from '../facts/limits.ts';
import type { Static } from 'typebox';

const Count = Type.Integer({ minimum: 0 });

const CallbackProblemSchema = Type.Object(
  {
    origin: Type.String({ description: 'The scheme, host and port of the receiver.' }),
    failingSince: UnixSeconds,
    lastFailed: UnixSeconds,
    lastStatus: Type.Integer({
      minimum: 0,
      maximum: 999,
      description: 'The HTTP status of the last attempt. 0 if there was no response.',
    }),
    lastErrorClass: Type.Optional(
      Type.Unsafe<'tls' | 'timeout' | 'unreachable'>({
        type: 'string',
        enum: ['tls', 'timeout', 'unreachable'],
        description: 'Why there was no response.',
      }),
    ),
    givenUp: Type.Integer({
      minimum: 1,
      description: 'The number of callbacks that were given up since `failingSince`.',
    }),
    isReduced: Type.Boolean({
      description:
        'Whether each callback gets only one attempt, because the receiver has failed for a long time. Ends when a callback succeeds.',
    }),
  },
  { additionalProperties: false, description: 'A receiver to which every callback has failed since `failingSince`.' },
);

export const AccountSchema = Type.Object(
  {
    accountId: Type.String(),
    name: Type.String(),
    status: Type.Unsafe<'active' | 'suspended'>({ type: 'string', enum: ['active', 'suspended'] }),
    balance: usd('The available and the held amount together.'),
    held: usd('The amount held for tasks and text calls that have not ended.'),
    available: usd('The amount available for new requests.'),
    currency: Currency,
    limits: Type.Object(
      {
        createsPerMinute: Type.Integer({
          minimum: 1,
          description: 'Create requests per minute. This is also the burst size.',
        }),
        readsPerMinute: Type.Integer({ minimum: 1, description: 'All other requests per minute.' }),
        runningTasks: Type.Integer({
          minimum: 0,
          description: 'The maximum number of tasks that run at once. Further tasks wait as `queued`.',
        }),
        queuedTasks: Type.Integer({
          minimum: 0,
          description: 'The maximum number of queued tasks. Beyond it, creating a task returns 429.',
        }),
        persistentBytes: Type.Integer({
          minimum: 0,
          description: 'The maximum number of bytes in persistent storage.',
        }),
        textRequestsPerMinute: Type.Integer({
          minimum: 1,
          description: 'Text requests per minute. This is also the burst size.',
        }),
        textTokensPerMinute: Type.Integer({
          minimum: 1,
          description: 'Text tokens per minute, input and output together.',
        }),
        textStreams: Type.Integer({
          minimum: 0,
          description: 'The maximum number of concurrent text calls, streamed or not. Further calls return 429.',
        }),
      },
      { additionalProperties: false },
    ),
    usage: Type.Object(
      { runningTasks: Count, queuedTasks: Count, persistentBytes: Count, textStreams: Count },
      { additionalProperties: false, description: 'The current usage of these limits.' },
    ),
    storagePrice: Type.Optional(
      usd(
        'The price of one GB (1,000,000,000 bytes) of persistent storage per month, metered daily. Only returned to the account itself.',
      ),
    ),
    callbackProblems: Type.Optional(
      Type.Array(CallbackProblemSchema, {
        maxItems: MAX_LISTED_RECEIVERS,
        description:
          'The receivers that fail to accept callbacks, the longest failing first. Empty if there are none. Only returned to the account itself.',
      }),
    ),
    created: UnixSeconds,
  },
  { additionalProperties: false },
);

export type WireAccount = Static<typeof AccountSchema>;
