/**
 * How a model file says in which way the credential of its upstream is used, and the form of the secret that it needs.
 */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { textAt } from '../../json-answer.ts';
import { CredentialError } from '../../upstream-target.ts';

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

/** What a secret of two parts looks like, by the scheme that needs it. */
const PAIRS: Readonly<Record<string, string>> = {
  basic: 'user:password',
  'jwt-hs256': 'issuer:key',
  sigv4: 'access-key-id:secret-access-key',
  'oauth2-client': 'client-id:client-secret',
};

/** @returns what is wrong with a secret; undefined: nothing; null: the scheme uses it as a key. */
export function findSecretProblem(scheme: string, secret: string): string | undefined | null {
  const pair = PAIRS[scheme];
  if (pair === undefined && scheme !== 'google-service-account') return null;
  try {
    if (pair === undefined) readKeyFile(secret);
    else splitSecret(secret, pair);
    return undefined;
  } catch (error) {
    if (error instanceof CredentialError) return error.message;
    throw error;
  }
}

/**
 * @param form what the secret has to look like, for the operator.
 * @returns what stands before and after the first colon.
 */
export function splitSecret(secret: string, form: string): readonly [string, string] {
  const colon = secret.indexOf(':');
  if (colon < 1 || colon === secret.length - 1) throw malformedSecret(`must have the form ${form}`);
  return [secret.slice(0, colon), secret.slice(colon + 1)];
}

/** @throws {CredentialError} it is not the JSON key file of a service account. */
export function readKeyFile(secret: string): { email: string; keyId: string | undefined; privateKey: string } {
  let json: unknown;
  try {
    json = JSON.parse(secret);
  } catch {
    throw malformedSecret('must be the JSON key file of a service account');
  }
  const email = textAt(json, 'client_email');
  const privateKey = textAt(json, 'private_key');
  if (email === undefined || privateKey === undefined) {
    throw malformedSecret('must be the JSON key file of a service account, with client_email and private_key');
  }
  return { email, keyId: textAt(json, 'private_key_id'), privateKey };
}

/** @param what is wrong with a secret. */
export function malformedSecret(what: string): CredentialError {
  return new CredentialError(`the credential ${what}`, { isPermanent: true });
}
