/**
 * The attempts of all of an account's callbacks as it sees them: `GET /account/callbacks` (contract §4.4).
 */
import { Type } from 'typebox';
import type { CallbackState } from '../facts/callback.ts';
import { attemptFields } from './callback.ts';
import { pageQuery } from './fields.ts';

/** A callback that waits for its task has no attempts. */
export const ATTEMPTED_STATES = ['pending', 'delivered', 'exhausted', 'stopped'] as const;

const State = Type.Unsafe<CallbackState>({
  type: 'string',
  enum: [...ATTEMPTED_STATES],
  description:
    'The state of the delivery. `pending`: more attempts follow. `exhausted`: all attempts failed. `stopped`: the receiver responded with 410.',
});

export const AccountCallbacksQuerySchema = Type.Object(
  {
    ...pageQuery('attempts', 200),
    state: Type.Optional(
      Type.Array(State, {
        minItems: 1,
        maxItems: ATTEMPTED_STATES.length,
        description:
          'Only attempts of callbacks in any of these states. Repeat the parameter or separate values by commas.',
      }),
    ),
    origin: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 300,
        pattern: '^https?://[^/?#@\\s]+/?$',
        description:
          'Only attempts to this receiver: its scheme, host and port, as in `callbackProblems` of `GET /v1/account`.',
      }),
    ),
  },
  { additionalProperties: false },
);

export const AccountAttemptSchema = Type.Object(
  {
    taskId: Type.String(),
    url: Type.Optional(
      Type.String({ maxLength: 2048, description: 'The callback URL. Absent if it was erased with the task.' }),
    ),
    origin: Type.Optional(Type.String({ description: 'The scheme, host and port of the receiver.' })),
    state: State,
    ...attemptFields,
  },
  { additionalProperties: false },
);

export const AccountCallbacksSchema = Type.Object(
  {
    size: Type.Integer({ minimum: 1, maximum: 100 }),
    attempts: Type.Array(AccountAttemptSchema, {
      maxItems: 100,
      description:
        'The attempts, newest first. With filters, a page can have fewer than `size` attempts, or none, and still have a `nextCursor`.',
    }),
    nextCursor: Type.Optional(
      Type.String({ description: 'Pass it as `cursor` to get the next page. Absent on the last page.' }),
    ),
  },
  { additionalProperties: false },
);
