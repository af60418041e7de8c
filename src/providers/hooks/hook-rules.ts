/**
 * How a provider calls back, beyond calling the address that it was given: how it checks the address before, and how it
 * signs its calls.
 */
import { Type } from 'typebox';
import type { Static } from 'typebox';

const SIGNATURE_SCHEMES = ['standard-webhooks', 'hmac-sha256', 'fal-ed25519'] as const;

type SignatureScheme = (typeof SIGNATURE_SCHEMES)[number];

/** The name of a credential, as in `secret` of an upstream. */
export const SecretName = (description: string) =>
  Type.String({ minLength: 1, maxLength: 64, pattern: '^[a-z0-9_]+$', description });

/** A member of a JSON object. */
const Member = (description: string) => Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_.-]{0,63}$', description });

const ChallengeSchema = Type.Object(
  {
    member: Member('Of the JSON body: the value to return. A call that has it is a challenge, and no hint.'),
    answer: Type.Optional(Member('Of the response: where the value is returned. Default: the same name.')),
  },
  { additionalProperties: false, description: 'A call by which the provider checks that the address is ours.' },
);

const VerifySchema = Type.Object(
  {
    scheme: Type.Unsafe<SignatureScheme>({
      type: 'string',
      enum: [...SIGNATURE_SCHEMES],
      description:
        '`standard-webhooks`: the headers `webhook-id`, `webhook-timestamp` and `webhook-signature`. `hmac-sha256`: a ' +
        'header with the HMAC of the body. `fal-ed25519`: the `x-fal-webhook-` headers.',
    }),
    secret: Type.Optional(
      SecretName(
        'The name of the credential that the provider signs with. Of `hmac-sha256` without one: `$hookSecret`, which ' +
          'the submit sends.',
      ),
    ),
    header: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z][A-Za-z0-9-]{0,63}$',
        description: 'Of `hmac-sha256`: where the signature is.',
      }),
    ),
    prefix: Type.Optional(
      Type.String({ pattern: '^[\\x21-\\x7e]{1,32}$', description: 'Of `hmac-sha256`: what precedes the signature.' }),
    ),
    encoding: Type.Optional(
      Type.Unsafe<'hex' | 'base64'>({
        type: 'string',
        enum: ['hex', 'base64'],
        description: 'Of the signature of `hmac-sha256`. Default: `hex`.',
      }),
    ),
    jwksUrl: Type.Optional(
      Type.String({
        pattern: '^https?://[\\x21-\\x7e]{1,2000}$',
        description: 'Of `fal-ed25519`: where the public keys are. Default: those of fal.',
      }),
    ),
  },
  { additionalProperties: false, description: 'How calls are signed. One that is not is rejected.' },
);

export const HookSchema = Type.Object(
  { challenge: Type.Optional(ChallengeSchema), verify: Type.Optional(VerifySchema) },
  {
    additionalProperties: false,
    minProperties: 1,
    description: 'What a provider needs that calls `$hookUrl`, besides that address.',
  },
);

export type HookRules = Static<typeof HookSchema>;
export type Challenge = Static<typeof ChallengeSchema>;
export type Verify = Static<typeof VerifySchema>;

/** The members that a scheme needs, and those that it may have. */
const MEMBERS: Readonly<
  Record<SignatureScheme, { readonly needs: readonly (keyof Verify)[]; readonly may: readonly (keyof Verify)[] }>
> = {
  'standard-webhooks': { needs: ['secret'], may: [] },
  'hmac-sha256': { needs: ['header'], may: ['secret', 'prefix', 'encoding'] },
  'fal-ed25519': { needs: [], may: ['jwksUrl'] },
};

/** Whether the provider signs with a secret that we derive for each task, and not with a credential. */
export function usesDerivedSecret({ verify }: HookRules): boolean {
  return verify?.scheme === 'hmac-sha256' && verify.secret === undefined;
}

/** @returns the first member that its scheme lacks or does not use, or undefined. */
export function findHookProblem({ verify }: HookRules): string | undefined {
  if (verify === undefined) return undefined;
  const { scheme } = verify;
  const { needs, may } = MEMBERS[scheme];
  const missing = needs.find((member) => verify[member] === undefined);
  if (missing !== undefined) return `verify.${missing}: scheme ${scheme} needs it`;
  const members = Object.keys(verify) as readonly (keyof Verify)[];
  const unused = members.find((member) => member !== 'scheme' && ![...needs, ...may].includes(member));
  return unused === undefined ? undefined : `verify.${unused}: scheme ${scheme} does not use it`;
}
