/**
 * The attempts of all of an account's callbacks as it sees them: `GET /account/callbacks` (contract §4.4).
 */
import type { ListedAttempt } from '../callbacks/list-attempts.ts';
import type { Static } from 'typebox';
import type { AccountAttemptSchema } from '@darkroom/api/tasks/account-callbacks';
import { originOf } from '../callbacks/list-attempts.ts';
import { presentAttempt } from './callback.ts';

export function presentListedAttempt(listed: ListedAttempt): Static<typeof AccountAttemptSchema> {
  const { taskId, url, state } = listed;
  const origin = originOf(url);
  return {
    taskId,
    ...(url === '' ? {} : { url }),
    ...(origin === undefined ? {} : { origin }),
    state,
    ...presentAttempt(listed),
  };
}
