/** Short-lived tokens as they are requested and shown (contract §7). */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { SCOPES } from '../facts/scopes.ts';
import type { Scope } from '../facts/scopes.ts';
import { UnixSeconds, usdInput } from './fields.ts';

/** What a token can never do: it is in the hands of people who do not own the account. */
const NOT_FOR_TOKENS: readonly Scope[] = ['keys:manage', 'webhooks:manage', 'dashboard'];
const TOKEN_SCOPES = SCOPES.filter((scope) => !NOT_FOR_TOKENS.includes(scope));

export const MAX_TOKEN_SECONDS = 3_600;

export const TokenScopeSchema = Type.Unsafe<Scope>({ type: 'string', enum: TOKEN_SCOPES });

export const CreateTokenSchema = Type.Object(
  {
    scopes: Type.Array(TokenScopeSchema, {
      minItems: 1,
      maxItems: TOKEN_SCOPES.length,
      uniqueItems: true,
      description: 'The scopes of the token. It cannot have a scope that the key does not have.',
    }),
    models: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 300 }), {
        minItems: 1,
        maxItems: 100,
        uniqueItems: true,
        description: 'The models that the token may use, by their names without a route. If omitted, those of the key.',
      }),
    ),
    spendCap: Type.Optional(
      usdInput('What may be spent with the token, in decimal USD. It also counts against the caps of the key.'),
    ),
    seconds: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_TOKEN_SECONDS,
        default: 600,
        description: 'The lifetime. The token never outlives its key.',
      }),
    ),
    origins: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 300 }), {
        minItems: 1,
        maxItems: 10,
        uniqueItems: true,
        description:
          'The origins of the pages that may use the token, such as `https://shop.example`; with `http`, only `localhost`. If omitted, no page can use it, only programs.',
      }),
    ),
  },
  { additionalProperties: false },
);

export type CreateTokenBody = Static<typeof CreateTokenSchema>;

const TOKEN = {
  id: Type.String(),
  keyId: Type.String({ description: 'The key that created it.' }),
  scopes: Type.Array(Type.String()),
  models: Type.Unsafe<readonly string[] | null>({
    type: ['array', 'null'],
    items: { type: 'string' },
    description: 'The models that the token may use. Null: every model.',
  }),
  origins: Type.Array(Type.String(), { description: 'Empty: it is not for pages.' }),
  expiresAt: UnixSeconds,
};

export const TokenSchema = Type.Object({
  ...TOKEN,
  token: Type.String({ description: 'Sent as an API key is. It is not shown again.' }),
});

/** A token that was revoked: `expiresAt` is the time of that, or when it had expired before. */
export const RevokedTokenSchema = Type.Object(TOKEN);
