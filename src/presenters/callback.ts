/**
 * A task's callback as its owner sees it (contract §6): its receiver, the state of its delivery, and each attempt.
 */
import type { CallbackRecord, RecordedAttempt } from '../callbacks/attempts.ts';
import type { Static } from 'typebox';
import type { AttemptSchema, CallbackAttemptsSchema } from '@darkroom/api/tasks/callback';

/** @param callback undefined: the task has none. */
export function presentCallback(callback: CallbackRecord | undefined): Static<typeof CallbackAttemptsSchema> {
  if (callback === undefined) return { state: 'none', attempts: [] };
  const { url, state, attempts } = callback;
  return {
    ...(url === '' ? {} : { url }),
    state,
    attempts: attempts.map(presentAttempt),
  };
}

export function presentAttempt(recorded: RecordedAttempt): Static<typeof AttemptSchema> {
  const { attempt, at, durationMs, httpStatus, errorClass } = recorded;
  return { attempt, at, durationMs, status: httpStatus, errorClass };
}
