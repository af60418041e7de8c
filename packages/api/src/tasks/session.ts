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
        description: 'The part after `#` of a sign-in link: valid once, for 10 min.',
      }),
    ),
  },
  { additionalProperties: false, minProperties: 1, maxProperties: 1, description: 'One of the two.' },
);

export const SessionSchema = Type.Object(
  {
    accountId: Type.String(),
    accountName: Type.String(),
    keyId: Type.String(),
    keyName: Type.String(),
    scopes: Type.Array(Type.Unsafe<Scope>({ type: 'string', enum: [...SCOPES] })),
    models: Type.Optional(
      Type.Array(Type.String(), { description: 'Those that the key may use; absent: every model.' }),
    ),
    expireAt: unixSecondsOrZero('the request used a key, which has no session that expires.'),
    baseUrl: Type.String({ description: 'What paths of the API are below.' }),
    workflowsUrl: Type.Optional(
      Type.String({
        description:
          "Where Temporal's Web UI has the workflows, each below it by its task's id; absent where it is not for users.",
      }),
    ),
    isEmbedded: Type.Boolean({ description: 'Whether this is an installation of `npm start`.' }),
    signatureHeaderPrefix: Type.String({ description: "The prefix of the names of a callback's signature headers." }),
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
    everywhere: Type.Optional(Type.Boolean({ description: 'Ends every session of the same key.' })),
  },
  { additionalProperties: false },
);

/** What the service states about itself. */
export type Service = Pick<
  Static<typeof SessionSchema>,
  'baseUrl' | 'workflowsUrl' | 'isEmbedded' | 'signatureHeaderPrefix'
>;
