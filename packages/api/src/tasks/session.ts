/**
 * A session of the dashboard as its pages see it: whose it is, what it may do, and the addresses of the service.
 */
import { Type } from 'typebox';
import type { Scope } from '../facts/scopes.ts';
import { SCOPES } from '../facts/scopes.ts';
import { unixSecondsOrZero } from './fields.ts';
import type { Static } from 'typebox';

/** The body of `POST /session`. */
export const SignInSchema = Type.Object(
  {
    key: Type.Optional(Type.String({ maxLength: 200, description: 'An API key with the scope `dashboard`.' })),
    link: Type.Optional(
      Type.String({
        maxLength: 200,
        description: 'The part after `#` of a sign-in link, which is valid once, for 10 minutes.',
      }),
    ),
  },
  { additionalProperties: false, minProperties: 1, maxProperties: 1, description: 'Exactly one of the two fields.' },
);

export const SessionSchema = Type.Object(
  {
    accountId: Type.String(),
    accountName: Type.String(),
    keyId: Type.String(),
    keyName: Type.String(),
    scopes: Type.Array(Type.Unsafe<Scope>({ type: 'string', enum: [...SCOPES] })),
    models: Type.Optional(
      Type.Array(Type.String(), { description: 'The models that the key may use. Absent: every model.' }),
    ),
    expireAt: unixSecondsOrZero('the request used an API key and has no session.'),
    baseUrl: Type.String({ description: 'The base URL of the API.' }),
    workflowsUrl: Type.Optional(
      Type.String({
        description:
          "The URL of the workflows in Temporal's Web UI; append a task id to get the page of its workflow. Absent if the Web UI is not available to users.",
      }),
    ),
    isEmbedded: Type.Boolean({ description: 'Whether this is a standalone installation (`npm start`).' }),
    signatureHeaderPrefix: Type.String({
      description: 'The prefix of the names of the signature headers of callbacks.',
    }),
  },
  { additionalProperties: false },
);

/** The `data` of `DELETE /session`. */
export const EndedSessionsSchema = Type.Object(
  { ended: Type.Integer({ minimum: 0 }) },
  { additionalProperties: false },
);

export const EndSessionQuerySchema = Type.Object(
  {
    everywhere: Type.Optional(Type.Boolean({ description: 'Whether to end every session of the same key.' })),
  },
  { additionalProperties: false },
);

/** What the service states about itself. */
export type Service = Pick<
  Static<typeof SessionSchema>,
  'baseUrl' | 'workflowsUrl' | 'isEmbedded' | 'signatureHeaderPrefix'
>;
