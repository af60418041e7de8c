/** The providers of an api process and their settings, as its operators see and change them. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { ModalitySchema } from './admin-catalogue.ts';
import { UnixSeconds, unixSecondsOrZero } from '../tasks/fields.ts';

const SOURCES = ['environment', 'file', 'stored'] as const;

const Source = Type.Unsafe<(typeof SOURCES)[number] | null>({
  type: ['string', 'null'],
  enum: [...SOURCES, null],
  description:
    'Where the setting comes from: the environment, the file that `UPSTREAM_<NAME>_KEY_FILE` names, or this API. Null if there is none.',
});

const NEEDS = ['required', 'optional', 'none'] as const;

const STATES = ['valid', 'rejected', 'unknown', 'not_checkable'] as const;

const VerificationSchema = Type.Object(
  {
    at: UnixSeconds,
    outcome: Type.Unsafe<'success' | 'fail'>({ type: 'string', enum: ['success', 'fail'] }),
  },
  { additionalProperties: false },
);

export const AdminProviderSchema = Type.Object(
  {
    name: Type.String(),
    title: Type.String(),
    documentation: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      description: 'Null if it has none of its own.',
    }),
    keys: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      description: 'The page where customers of the provider create keys.',
    }),
    checkedAt: Type.String({
      description: 'The day on which its files were last compared with the documentation: `2026-11-27`.',
    }),
    missing: Type.Unsafe<'credential' | 'valid_credential' | 'base_url' | null>({
      type: ['string', 'null'],
      enum: ['credential', 'valid_credential', 'base_url', null],
      description:
        'What has to be set before its models are offered. `valid_credential`: the provider rejects the one that is set. Null if nothing is missing.',
    }),
    credential: Type.Object(
      {
        need: Type.Unsafe<(typeof NEEDS)[number]>({ type: 'string', enum: [...NEEDS] }),
        source: Source,
        checks: Type.Array(
          Type.Object(
            {
              name: Type.String({ description: 'The name of the credential: one of several in a pool.' }),
              state: Type.Unsafe<(typeof STATES)[number]>({
                type: 'string',
                enum: [...STATES],
                description:
                  '`valid`, `rejected`: what the provider answered to a free request. `unknown`: it has not answered yet. `not_checkable`: it has no such request.',
              }),
              checkedAt: unixSecondsOrZero('it was not checked.'),
            },
            { additionalProperties: false },
          ),
          {
            description:
              'Whether the provider accepts the credentials that are set: checked when one is set, at start and daily.',
          },
        ),
      },
      { additionalProperties: false },
    ),
    baseUrl: Type.Object(
      {
        url: Type.Unsafe<string | null>({
          type: ['string', 'null'],
          description: 'The URL that is used. Null if the provider is hosted by its users and no URL is set.',
        }),
        source: Source,
      },
      { additionalProperties: false },
    ),
    models: Type.Array(
      Type.Object(
        {
          name: Type.String(),
          modality: ModalitySchema,
          isOffered: Type.Boolean({ description: 'Whether clients can use it, by this provider or another.' }),
          verification: Type.Unsafe<Static<typeof VerificationSchema> | null>({
            anyOf: [VerificationSchema, { type: 'null' }],
            description:
              'The last run of the model against the real service of the provider (`admin models verify`). Null if it has not been run, or its files have changed since.',
          }),
        },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false },
);

export const AdminProviderListSchema = Type.Object(
  { providers: Type.Array(AdminProviderSchema) },
  { additionalProperties: false },
);

const change = (schema: object, description: string) =>
  Type.Optional(
    Type.Unsafe<string | null>({
      anyOf: [schema, { type: 'null' }],
      description: `${description} Null removes it; absent, it stays as it is.`,
    }),
  );

export const MAX_CREDENTIAL_LENGTH = 20_000;

export const SetProviderSchema = Type.Object(
  {
    credential: change(
      { type: 'string', minLength: 1, maxLength: MAX_CREDENTIAL_LENGTH },
      'The credential. It is stored encrypted and never shown.',
    ),
    baseUrl: change(
      { type: 'string', minLength: 1, maxLength: 2_048 },
      'The URL that replaces the one in the file of the provider.',
    ),
  },
  { additionalProperties: false, minProperties: 1 },
);
