/**
 * The webhook signing key as its account sees it (contract §6, §7), and the content and the result of a test
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
      description: 'Its UTF-8 bytes are the key of the signatures.',
    }),
  },
  { additionalProperties: false },
);

export const WebhookKeySchema = Type.Object(
  {
    hasKey: Type.Boolean({
      description: 'Without one, callbacks carry no signature; the other fields are absent then.',
    }),
    secret: Type.Optional(Type.String({ description: 'Its UTF-8 bytes are the key of the signatures.' })),
    whsec: Type.Optional(Type.String({ description: 'The same key in the spelling of Standard Webhooks libraries.' })),
    created: Type.Optional(UnixSeconds),
    previousExpires: Type.Optional(
      unixSecondsOrZero('no other key signs. Until then the key before this one signs too.'),
    ),
  },
  { additionalProperties: false },
);

export type WireWebhookKey = Static<typeof WebhookKeySchema>;

export const TestDeliverySchema = Type.Object(
  { url: Type.String({ minLength: 1, maxLength: 2048, description: 'As `callback.url` of a task.' }) },
  { additionalProperties: false },
);

export const TestDeliveryResultSchema = Type.Object(
  {
    delivered: Type.Boolean({ description: 'Whether the receiver answered 2xx within 10 s.' }),
    status: Type.Integer({ minimum: 0, maximum: 999, description: 'The HTTP status; 0 where no answer came.' }),
    durationMs: Type.Integer({ minimum: 0 }),
    errorClass: Type.Optional(
      Type.Unsafe<'tls' | 'timeout' | 'unreachable'>({
        type: 'string',
        enum: ['tls', 'timeout', 'unreachable'],
        description: 'Why no answer came. An address that may not be reached is `unreachable`.',
      }),
    ),
    signed: Type.Boolean({ description: 'Whether the account has a key to sign with.' }),
  },
  { additionalProperties: false },
);
