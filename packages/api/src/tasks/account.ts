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
    origin: Type.String({ description: 'Scheme, host and port of the receiver.' }),
    failingSince: UnixSeconds,
    lastFailed: UnixSeconds,
    lastStatus: Type.Integer({
      minimum: 0,
      maximum: 999,
      description: 'The HTTP status of the last attempt; 0 where no answer came.',
    }),
    lastErrorClass: Type.Optional(
      Type.Unsafe<'tls' | 'timeout' | 'unreachable'>({
        type: 'string',
        enum: ['tls', 'timeout', 'unreachable'],
        description: 'Why no answer came.',
      }),
    ),
    givenUp: Type.Integer({ minimum: 1, description: 'Callbacks given up since then.' }),
    isReduced: Type.Boolean({
      description: 'Whether it has failed for so long that each callback gets one attempt, until one arrives.',
    }),
  },
  { additionalProperties: false, description: 'A receiver to which every callback failed since then.' },
);

export const AccountSchema = Type.Object(
  {
    accountId: Type.String(),
    name: Type.String(),
    status: Type.Unsafe<'active' | 'suspended'>({ type: 'string', enum: ['active', 'suspended'] }),
    balance: usd('What is available and what is held, together.'),
    held: usd('Held for tasks and text calls that are not over.'),
    available: usd('What new requests can be paid from.'),
    currency: Currency,
    limits: Type.Object(
      {
        createsPerMinute: Type.Integer({ minimum: 1, description: 'Creating requests per minute; as many at once.' }),
        readsPerMinute: Type.Integer({ minimum: 1, description: 'All other requests.' }),
        runningTasks: Type.Integer({ minimum: 0, description: 'Tasks that run at once; the others wait as `queued`.' }),
        queuedTasks: Type.Integer({
          minimum: 0,
          description: 'Tasks that wait behind them; beyond that a create is 429.',
        }),
        persistentBytes: Type.Integer({ minimum: 0, description: 'Bytes of persistent storage.' }),
        textRequestsPerMinute: Type.Integer({ minimum: 1, description: 'Text requests per minute; as many at once.' }),
        textTokensPerMinute: Type.Integer({
          minimum: 1,
          description: 'Tokens of text per minute, input and output together.',
        }),
        textStreams: Type.Integer({
          minimum: 0,
          description: 'Text calls under way at once, streamed or not; beyond that they are 429.',
        }),
      },
      { additionalProperties: false },
    ),
    usage: Type.Object(
      { runningTasks: Count, queuedTasks: Count, persistentBytes: Count, textStreams: Count },
      { additionalProperties: false, description: 'How much of these limits is in use at this moment.' },
    ),
    storagePrice: Type.Optional(
      usd(
        'What a GB (1,000,000,000 bytes) of persistent storage costs for a month; metered daily. Only where an account reads itself.',
      ),
    ),
    callbackProblems: Type.Optional(
      Type.Array(CallbackProblemSchema, {
        maxItems: MAX_LISTED_RECEIVERS,
        description:
          'Receivers that take no callbacks, the longest failing first; empty where all do. Only where an account reads itself.',
      }),
    ),
    created: UnixSeconds,
  },
  { additionalProperties: false },
);

export type WireAccount = Static<typeof AccountSchema>;
