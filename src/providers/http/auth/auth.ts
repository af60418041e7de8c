/** How a model file says in which way the credential of its upstream is used. */
import { Type } from 'typebox';
import type { Static } from 'typebox';

const SCHEMES = [
  'bearer',
  'header',
  'basic',
  'query',
  'jwt-hs256',
  'sigv4',
  'google-service-account',
  'oauth2-client',
] as const;

export type Scheme = (typeof SCHEMES)[number];

const Word = (description: string) => Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$', description });

export const AuthSchema = Type.Object(
  {
    scheme: Type.Unsafe<Scheme>({
      type: 'string',
      enum: [...SCHEMES],
      description:
        'The secret of `basic` has the form `user:password`, that of `jwt-hs256` `issuer:key`, that of `sigv4` ' +
        '`access-key-id:secret-access-key`, that of `oauth2-client` `client-id:client-secret`; that of ' +
        '`google-service-account` is the JSON key file.',
    }),
    name: Type.Optional(
      Type.String({ pattern: '^[A-Za-z][A-Za-z0-9_-]{0,63}$', description: 'Of the header or the parameter.' }),
    ),
    prefix: Type.Optional(
      Type.String({ pattern: '^[\\x20-\\x7e]{1,32}$', description: 'The prefix of the secret in a header.' }),
    ),
    lifetimeSeconds: Type.Optional(
      Type.Integer({ minimum: 60, maximum: 86_400, description: 'Of `jwt-hs256`: how long a token is valid.' }),
    ),
    service: Type.Optional(Word('Of `sigv4`: the service in the scope of the signature.')),
    region: Type.Optional(Word('Of `sigv4`: the region in the scope of the signature.')),
    variant: Type.Optional(
      Type.Unsafe<'aws' | 'volcengine'>({
        type: 'string',
        enum: ['aws', 'volcengine'],
        description: 'Of `sigv4`: whose names for the algorithm and the headers are used. Default: `aws`.',
      }),
    ),
    tokenUrl: Type.Optional(
      Type.String({
        pattern: '^https?://[\\x21-\\x7e]{1,2000}$',
        description: 'Where tokens are issued. Default of `google-service-account`: that of Google.',
      }),
    ),
    scope: Type.Optional(
      Type.String({ pattern: '^[\\x21-\\x7e]{1,500}( [\\x21-\\x7e]{1,500}){0,9}$', description: 'Of the tokens.' }),
    ),
    audience: Type.Optional(
      Type.String({ pattern: '^[\\x21-\\x7e]{1,500}$', description: 'Of `oauth2-client`, where the issuer needs it.' }),
    ),
    clientAuthentication: Type.Optional(
      Type.Unsafe<'header' | 'body'>({
        type: 'string',
        enum: ['header', 'body'],
        description: 'Of `oauth2-client`: where the issuer expects id and secret. Default: `header`.',
      }),
    ),
  },
  { additionalProperties: false, description: 'How the secret is used. Default: `Authorization: Bearer`.' },
);

export type Auth = Static<typeof AuthSchema>;

/** The members that a scheme needs, and those that it may have. */
const MEMBERS: Readonly<
  Record<Scheme, { readonly needs: readonly (keyof Auth)[]; readonly may: readonly (keyof Auth)[] }>
> = {
  bearer: { needs: [], may: [] },
  header: { needs: ['name'], may: ['prefix'] },
  basic: { needs: [], may: [] },
  query: { needs: ['name'], may: [] },
  'jwt-hs256': { needs: [], may: ['lifetimeSeconds'] },
  sigv4: { needs: ['service', 'region'], may: ['variant'] },
  'google-service-account': { needs: [], may: ['scope', 'tokenUrl'] },
  'oauth2-client': { needs: ['tokenUrl'], may: ['scope', 'audience', 'clientAuthentication'] },
};

/** @returns the first member that its scheme lacks or does not use, or undefined. */
export function findAuthProblem(auth: Auth): string | undefined {
  const { needs, may } = MEMBERS[auth.scheme];
  const missing = needs.find((member) => auth[member] === undefined);
  if (missing !== undefined) return `auth.${missing}: scheme ${auth.scheme} needs it`;
  const members = Object.keys(auth) as readonly (keyof Auth)[];
  const unused = members.find((member) => member !== 'scheme' && ![...needs, ...may].includes(member));
  return unused === undefined ? undefined : `auth.${unused}: scheme ${auth.scheme} does not use it`;
}
