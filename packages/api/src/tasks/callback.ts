/**
 * A task's callback as its owner sees it (contract §6): its receiver, the state of its delivery, and each attempt.
 */
import { Type } from 'typebox';
import type { CallbackState } from '../facts/callback.ts';
import { MAX_LISTED_ATTEMPTS } from '../facts/limits.ts';

/** The fields of an attempt, here and in the list for all tasks (account-callbacks.ts). */
export const attemptFields = {
  attempt: Type.Integer({ minimum: 1, description: 'Counted over all deliveries of the task.' }),
  at: Type.Integer({ minimum: 0, description: 'Unix seconds: when it began.' }),
  durationMs: Type.Unsafe<number | null>({
    type: ['integer', 'null'],
    minimum: 0,
    description: 'Null while it is under way, and where it was cut off.',
  }),
  status: Type.Unsafe<number | null>({
    type: ['integer', 'null'],
    minimum: 100,
    maximum: 999,
    description: 'The HTTP status of the reply; null where none came.',
  }),
  errorClass: Type.Unsafe<'tls' | 'timeout' | 'unreachable' | null>({
    type: ['string', 'null'],
    enum: ['tls', 'timeout', 'unreachable', null],
    description: 'Why no reply came.',
  }),
};

export const AttemptSchema = Type.Object(attemptFields, { additionalProperties: false });

/** The `data` of `GET /tasks/{taskId}/callback/attempts`. */
export const CallbackAttemptsSchema = Type.Object(
  {
    url: Type.Optional(
      Type.String({
        maxLength: 2048,
        description: 'Absent where the task has no callback, or its address was erased.',
      }),
    ),
    state: Type.Unsafe<CallbackState | 'none'>({
      type: 'string',
      enum: ['none', 'waiting', 'pending', 'delivered', 'exhausted', 'stopped'],
      description:
        '`none`: the task has no callback; `waiting`: the task is not over yet; `stopped`: by a reply of 410.',
    }),
    attempts: Type.Array(AttemptSchema, {
      maxItems: MAX_LISTED_ATTEMPTS,
      description: 'In their order; only the last ones where there are more.',
    }),
  },
  { additionalProperties: false },
);
