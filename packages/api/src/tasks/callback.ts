/**
 * A task's callback as its owner sees it (contract §6): its receiver, the state of its delivery, and each attempt.
 */
import { Type } from 'typebox';
import type { CallbackState } from '../facts/callback.ts';
import { MAX_LISTED_ATTEMPTS } from '../facts/limits.ts';

/** The fields of an attempt, here and in the list for all tasks (account-callbacks.ts). */
export const attemptFields = {
  attempt: Type.Integer({
    minimum: 1,
    description: 'The number of the attempt, counted over all deliveries of the task.',
  }),
  at: Type.Integer({ minimum: 0, description: 'The time when the attempt began, in Unix seconds.' }),
  durationMs: Type.Unsafe<number | null>({
    type: ['integer', 'null'],
    minimum: 0,
    description: 'The duration of the attempt. Null while it is in progress and if it was interrupted.',
  }),
  status: Type.Unsafe<number | null>({
    type: ['integer', 'null'],
    minimum: 100,
    maximum: 999,
    description: 'The HTTP status of the response. Null if there was none.',
  }),
  errorClass: Type.Unsafe<'tls' | 'timeout' | 'unreachable' | null>({
    type: ['string', 'null'],
    enum: ['tls', 'timeout', 'unreachable', null],
    description: 'Why there was no response.',
  }),
};

export const AttemptSchema = Type.Object(attemptFields, { additionalProperties: false });

/** The `data` of `GET /tasks/{taskId}/callback/attempts`. */
export const CallbackAttemptsSchema = Type.Object(
  {
    url: Type.Optional(
      Type.String({
        maxLength: 2048,
        description: 'The callback URL. Absent if the task has no callback or its URL was erased.',
      }),
    ),
    state: Type.Unsafe<CallbackState | 'none'>({
      type: 'string',
      enum: ['none', 'waiting', 'pending', 'delivered', 'exhausted', 'stopped'],
      description:
        'The state of the delivery. `none`: the task has no callback. `waiting`: the task has not ended. `pending`: more attempts follow. `exhausted`: all attempts failed. `stopped`: the receiver responded with 410.',
    }),
    attempts: Type.Array(AttemptSchema, {
      maxItems: MAX_LISTED_ATTEMPTS,
      description: 'The attempts, oldest first. If there are more than can be listed, only the last ones.',
    }),
  },
  { additionalProperties: false },
);
