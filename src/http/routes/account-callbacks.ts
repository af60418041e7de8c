/**
 * `/v1/account/callbacks`: the attempts of all of the account's callbacks, for the operators of its receivers. Those
 * of a single task are in `task-callback.ts`.
 */
import type { Static } from 'typebox';
import { listAttempts, originOf } from '../../callbacks/list-attempts.ts';
import { AccountCallbacksQuerySchema, AccountCallbacksSchema } from '@darkroom/api/tasks/account-callbacks';
import { presentListedAttempt } from '../../presenters/callback.ts';
import type { HttpContext } from '../app/context.ts';
import { decodeCursor, encodeCursor } from '../app/cursor.ts';
import { defineRoute } from '../app/route.ts';
import type { Route } from '../app/route.ts';

const DEFAULT_PAGE_SIZE = 20;

export function accountCallbackRoutes(http: HttpContext): readonly Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/v1/account/callbacks',
      operationId: 'listAccountCallbacks',
      tag: 'Webhooks',
      summary: 'List callback attempts for all tasks',
      description:
        'Returns the newest attempts first. Follow `nextCursor` for older ones. New attempts do not shift pages that follow a cursor.',
      access: 'tasks:read',
      query: AccountCallbacksQuerySchema,
      isExpensive: true,
      response: { kind: 'data', schema: AccountCallbacksSchema },
      async handle({ caller, query }): Promise<Static<typeof AccountCallbacksSchema>> {
        const { cursor, size = DEFAULT_PAGE_SIZE, state: states, origin } = query;
        const receiver = origin === undefined ? undefined : originOf(origin);
        // No URL of a receiver has such an origin.
        if (origin !== undefined && receiver === undefined) return { size, attempts: [] };
        const { attempts, next } = await listAttempts(http.database, {
          accountId: caller.accountId,
          states,
          origin: receiver,
          after: cursor === undefined ? undefined : decodeCursor(cursor),
          size,
        });
        return {
          size,
          attempts: attempts.map(presentListedAttempt),
          ...(next === undefined ? {} : { nextCursor: encodeCursor(next) }),
        };
      },
    }),
  ];
}
