/**
 * The webhook signing secret as its account sees it (contract §6, §7), and the content and the result of a test
 * delivery.
 */
import { Type } from 'typebox';
import { WEBHOOK_SECRET_LENGTH } from '../facts/limits.ts';
import { UnixSeconds, unixSecondsOrZero } from './fields.ts';
import type { Static } from 'typebox';

export const SetWebhookKeySchema = Type.Object(
  {
    secret: Type.String({
      minLength: WEBHOOK_SECRET_LENGTH.minimum,
      maxLength: WEBHOOK_SECRET_LENGTH.maximum,
      description: 'The signing secret. Its UTF-8 bytes are the HMAC key of the signatures.',
    }),
  },
  { additionalProperties: false },
);

export const WebhookKeySchema = Type.Object(
  {
    hasKey: Type.Boolean({
      description:
        'Whether the account has a signing secret. Without one, callbacks carry no signature and the other fields are absent.',
    }),
    secret: Type.Optional(
      Type.String({ description: 'The signing secret. Its UTF-8 bytes are the HMAC key of the signatures.' }),
    ),
    whsec: Type.Optional(
      Type.String({ description: 'The same secret in the format that Standard Webhooks libraries expect.' }),
    ),
    created: Type.Optional(UnixSeconds),
    previousExpires: Type.Optional(
      unixSecondsOrZero(
        'callbacks are signed with no other secret. Until then, callbacks are also signed with the previous secret.',
      ),
    ),
  },
  { additionalProperties: false },
);

export type WireWebhookKey = Static<typeof WebhookKeySchema>;

export const TestDeliverySchema = Type.Object(
  {
    url: Type.String({
      minLength: 1,
      maxLength: 2048,
      description: 'The URL to deliver to, with the same rules as `callback.url` of a task.',
    }),
  },
  { additionalProperties: false },
);

export const TestDeliveryResultSchema = Type.Object(
  {
    delivered: Type.Boolean({ description: 'Whether the receiver responded with 2xx within 10 s.' }),
    status: Type.Integer({ minimum: 0, maximum: 999, description: 'The HTTP status. 0 if there was no response.' }),
    durationMs: Type.Integer({ minimum: 0 }),
    errorClass: Type.Optional(
      Type.Unsafe<'tls' | 'timeout' | 'unreachable'>({
        type: 'string',
        enum: ['tls', 'timeout', 'unreachable'],
        description: 'Why there was no response. A URL whose address is not allowed is reported as `unreachable`.',
      }),
    ),
    signed: Type.Boolean({ description: 'Whether the account has a signing secret.' }),
  },
  { additionalProperties: false },
);
