/**
 * `POST /hooks/{upstream}/{token}`: where providers call back (contract, "Conventions"). No key, and nothing in the
 * request is trusted: it only makes us poll the provider a little earlier than we would have.
 */
import { Type } from 'typebox';
import { createHookUrls } from '../../upstreams/hook-urls.ts';
import { recordProviderHook } from '../../upstreams/provider-hooks.ts';
import type { HttpContext } from '../app/context.ts';
import { notFound } from '../app/errors.ts';
import { SMALL_BODY_BYTES, discardBody } from '../bodies/json-body.ts';
import { defineRoute } from '../app/route.ts';
import type { Route } from '../app/route.ts';

const ReceivedSchema = Type.Object({ received: Type.Literal(true) }, { additionalProperties: false });

export function hookRoutes(http: HttpContext): readonly Route[] {
  const { publicUrl } = http.urlSigner;
  const hookUrls = createHookUrls({ publicUrl, ...http.config.urls });
  return [
    defineRoute({
      method: 'POST',
      path: '/hooks/{upstream}/{token}',
      operationId: 'receiveProviderHook',
      tag: 'Service',
      summary: 'Receive a provider webhook',
      description:
        'Called by upstream providers when the state of a job has changed. Accepts any body of at most 256 kB. Early, late and repeated calls are harmless.',
      access: 'none',
      params: {
        upstream: 'The provider that sends the webhook.',
        token: 'The token that this service issued to the provider for one task.',
      },
      response: { kind: 'json', schema: ReceivedSchema },
      errors: ['NOT_FOUND', 'PAYLOAD_TOO_LARGE', 'RATE_LIMITED', 'SERVICE_UNAVAILABLE'],
      async handle({ ctx, params }) {
        const { upstream = '', token = '' } = params;
        const taskId = hookUrls.taskOf(upstream, token);
        if (taskId === undefined) throw notFound();
        await discardBody(ctx.req, SMALL_BODY_BYTES, http.bodies.ofAddress(ctx.req));
        await recordProviderHook(http.database, taskId, upstream);
        return { received: true };
      },
    }),
  ];
}
