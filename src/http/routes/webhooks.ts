/**
 * `/v1/account/webhook-key`: the secret that signs the account's callbacks (spec §5.5, contract §6, §7), and
 * `/v1/account/callbacks`: the attempts of all of them, for the operators of its receivers. Those of a single task are
 * in task-events.ts.
 */
import { AccountCallbacksQuerySchema, AccountCallbacksSchema } from '@darkroom/api/tasks/account-callbacks';
import {
  SetWebhookKeySchema,
  TestDeliveryResultSchema,
  TestDeliverySchema,
  WebhookKeySchema,
} from '@darkroom/api/tasks/webhook-key';
import type { WireWebhookKey } from '@darkroom/api/tasks/webhook-key';
import type { Static } from 'typebox';
import { recordReceiverAnswer } from '../../accounts/callback-receivers.ts';
import { listAttempts, originOf } from '../../callbacks/attempts.ts';
import { newWebhookSecret } from '../../callbacks/signing.ts';
import { sendTestDelivery } from '../../callbacks/test-delivery.ts';
import { newTaskId } from '../../domain/ids.ts';
import { checkUrl } from '../../egress/policy.ts';
import {
  exampleTask,
  presentListedAttempt,
  presentTestDelivery,
  presentWebhookKey,
} from '../../presenters/callback.ts';
import { presentTask } from '../../presenters/task.ts';
import { findUnstorableText } from '../../tasks/record/storable-text.ts';
import type { HttpContext } from '../app/context.ts';
import { decodeCursor, encodeCursor } from '../app/cursor.ts';
import { invalidRequest, violated } from '../app/errors.ts';
import { defineRoute } from '../app/route.ts';
import type { Route } from '../app/route.ts';

const PATH = '/v1/account/webhook-key';
const response = { kind: 'data', schema: WebhookKeySchema } as const;

const DEFAULT_PAGE_SIZE = 20;

export function webhookRoutes(http: HttpContext): readonly Route[] {
  const { database, webhookKeys } = http;
  const prefix = http.config.callbacks.headerPrefix;

  const readKey = async (accountId: string): Promise<WireWebhookKey> =>
    presentWebhookKey(await webhookKeys.read(database, accountId, http.now()));

  const replaceKey = async (accountId: string, secret: string): Promise<WireWebhookKey> => {
    await database.transaction((transaction) => webhookKeys.replace(transaction, accountId, secret, http.now()));
    return readKey(accountId);
  };

  return [
    defineRoute({
      method: 'GET',
      path: PATH,
      operationId: 'getWebhookKey',
      tag: 'Webhooks',
      summary: 'Get the signing secret',
      description: `A callback carries \`${prefix}-Timestamp\` and \`${prefix}-Signature\`, the hexadecimal HMAC-SHA256 of the timestamp, a dot and the raw body, with the UTF-8 bytes of the secret as the key. The same delivery carries the headers of Standard Webhooks (\`webhook-id\`, \`webhook-timestamp\`, \`webhook-signature\`). For 24 hours after a secret was replaced, callbacks are also signed with the previous secret: in \`${prefix}-Signature-Previous\`, and as a second entry of \`webhook-signature\`.`,
      access: 'webhooks:manage',
      response,
      handle: ({ ctx, caller }) => {
        ctx.set('Cache-Control', 'no-store');
        return readKey(caller.accountId);
      },
    }),
    defineRoute({
      method: 'PUT',
      path: PATH,
      operationId: 'setWebhookKey',
      tag: 'Webhooks',
      summary: 'Set the signing secret',
      description:
        'For 24 hours, callbacks are signed with the previous secret in addition to the new one. Setting the current secret again has no effect.',
      access: 'webhooks:manage',
      body: { kind: 'json', schema: SetWebhookKeySchema },
      response,
      handle: ({ caller, body }) => {
        const problem = findUnstorableText(body);
        if (problem !== undefined) throw violated(problem);
        return replaceKey(caller.accountId, body.secret);
      },
    }),
    defineRoute({
      method: 'POST',
      path: `${PATH}/rotate`,
      operationId: 'rotateWebhookKey',
      tag: 'Webhooks',
      summary: 'Rotate the signing secret',
      description:
        'Generates a new secret. For 24 hours, callbacks are signed with the previous secret in addition to the new one.',
      access: 'webhooks:manage',
      response,
      handle: ({ caller }) => replaceKey(caller.accountId, newWebhookSecret()),
    }),
    defineRoute({
      method: 'DELETE',
      path: PATH,
      operationId: 'deleteWebhookKey',
      tag: 'Webhooks',
      summary: 'Delete the signing secret',
      description: 'Callbacks are no longer signed. Also deletes a previous secret that is still in use.',
      access: 'webhooks:manage',
      response,
      async handle({ caller }) {
        await database.transaction((transaction) => webhookKeys.remove(transaction, caller.accountId));
        return readKey(caller.accountId);
      },
    }),
    defineRoute({
      method: 'POST',
      path: `${PATH}/test`,
      operationId: 'testWebhook',
      tag: 'Webhooks',
      summary: 'Send a test callback',
      description:
        'Sends a sample task, signed like a real callback, and returns the result of the delivery. It is sent even if earlier callbacks failed. If it succeeds, `GET /v1/account` no longer lists the receiver in `callbackProblems`.',
      access: 'webhooks:manage',
      budget: 'create',
      body: { kind: 'json', schema: TestDeliverySchema },
      response: { kind: 'data', schema: TestDeliveryResultSchema },
      async handle({ caller, body: { url } }) {
        const checked = checkUrl(url, http.egressPolicy);
        if (!checked.ok) throw invalidRequest(`invalid request: url: ${checked.problem}`);
        const now = http.now();
        const taskId = newTaskId();
        const delivery = await sendTestDelivery(
          http.egress,
          { url, accountId: caller.accountId },
          {
            taskId,
            timestampSeconds: Math.floor(now / 1000),
            body: JSON.stringify(presentTask(exampleTask(taskId, caller, now), http.urlSigner, now)),
            secrets: await webhookKeys.activeSecrets(database, caller.accountId, now),
            headerPrefix: http.config.callbacks.headerPrefix,
          },
        );
        // Whatever failed before: the receiver works now, and gets the whole schedule again.
        if (delivery.isDelivered) await recordReceiverAnswer(database, caller.accountId, checked.url.origin);
        return presentTestDelivery(delivery);
      },
    }),
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
