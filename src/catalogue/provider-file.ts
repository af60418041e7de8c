/**
 * The form of a provider file, `providers/<name>/provider.json` in a directory of model files: what all models of one
 * provider have in common. An upstream of a model refers to it by `provider` and has its `upstream` merged under its
 * own members (RFC 7396), so that a pinned definition contains everything and refers to nothing.
 */
import { isRecord } from '../domain/json-members.ts';
import { Type } from 'typebox';
import type { Static, TObject } from 'typebox';
import { EditorSchema } from './definition.ts';
import { ModelFileError } from './model-files.ts';
import { PROVIDER_NAME } from './provider-name.ts';
import { compileCheck } from '../schema/schema-validation.ts';

const HttpsUrl = Type.String({ minLength: 1, maxLength: 2048, pattern: '^https://' });

const CREDENTIALS = ['required', 'optional', 'none'] as const;

const members = {
  $schema: Type.Optional(EditorSchema),
  name: Type.String({ pattern: PROVIDER_NAME, description: 'What model files call it: the name of its directory.' }),
  title: Type.String({ minLength: 1, maxLength: 100, description: 'Its own name: `Black Forest Labs`.' }),
  documentation: Type.Optional(Type.String({ ...HttpsUrl, description: 'Where its API is documented.' })),
  keys: Type.Optional(Type.String({ ...HttpsUrl, description: 'Where its customers create keys.' })),
  checkedAt: Type.String({
    pattern: '^20[0-9]{2}-[01][0-9]-[0-3][0-9]$',
    description: 'The day on which its files were last compared with its documentation.',
  }),
  credential: Type.Optional(
    Type.Unsafe<(typeof CREDENTIALS)[number]>({
      type: 'string',
      enum: [...CREDENTIALS],
      description: 'Whether a request carries one. Default: `required`.',
    }),
  ),
  probe: Type.Optional(
    Type.Object(
      {
        path: Type.String({
          pattern: '^(/|https://)[\\x21-\\x7e]{0,500}$',
          description: 'The path below the base URL, or a URL of the same origin. The request is a GET.',
        }),
        rejects: Type.Optional(
          Type.Array(Type.Integer({ minimum: 400, maximum: 499 }), {
            minItems: 1,
            uniqueItems: true,
            description: 'The statuses that only a bad credential gets. Default: 401.',
          }),
        ),
      },
      {
        additionalProperties: false,
        description:
          'A request that costs nothing and shows whether a credential is accepted: 2xx, or one of `rejects`. Without it, credentials are not checked.',
      },
    ),
  ),
  isSelfHosted: Type.Optional(
    Type.Boolean({
      description:
        'Whether each operator runs a server of their own: its models are offered once its URL is configured.',
    }),
  ),
};

const ProviderFileSchema = Type.Object(
  { ...members, upstream: Type.Record(Type.String(), Type.Unknown()) },
  { additionalProperties: false },
);

export type ProviderFile = Static<typeof ProviderFileSchema>;

/** The providers that model files can refer to. */
export interface KnownProviders {
  readonly byName: ReadonlyMap<string, ProviderFile>;
  /** Their files, by name. */
  readonly files: ReadonlyMap<string, string>;
  /** The names of those whose file cannot be used. */
  readonly invalid: ReadonlySet<string>;
}

/** Members of an upstream that belong to a model. */
const OF_MODELS: readonly string[] = ['provider', 'model'];

/** The form of a provider file. @param upstreams the forms of an upstream; where several have a member, the last one defines it. */
export function providerFileForm(upstreams: readonly TObject[]): TObject {
  // `Object.assign` of a list is `any`.
  const all = Object.assign({}, ...upstreams.map(({ properties }) => properties)) as TObject['properties'];
  const shared = Object.fromEntries(
    Object.entries(all).flatMap(([name, schema]) =>
      OF_MODELS.includes(name) ? [] : [[name, Type.Optional(withoutRequired(schema))]],
    ),
  );
  const upstream = Type.Object(shared, {
    additionalProperties: false,
    description: 'What the upstreams of its models have in common.',
  });
  return Type.Object({ ...members, upstream }, { additionalProperties: false });
}

/** @param upstreams as of `providerFileForm`. */
export function providerFileCheck(
  upstreams: readonly TObject[],
): (file: string, parsed: unknown) => ProviderFile | ModelFileError {
  const check = compileCheck(providerFileForm(upstreams), 'invalid provider file');
  return (file, parsed) => {
    const problem = check(parsed);
    // Its form was checked.
    return problem === undefined ? (parsed as ProviderFile) : new ModelFileError(file, problem);
  };
}

/** The same schema, in which no member of an object is required: the models have the rest. */
function withoutRequired<Schema>(schema: Schema): Schema {
  if (Array.isArray(schema) || typeof schema !== 'object' || schema === null) return schema;
  if (!('properties' in schema) || typeof schema.properties !== 'object' || schema.properties === null) return schema;
  const properties = Object.fromEntries(
    Object.entries(schema.properties).map(([name, member]) => [name, withoutRequired<unknown>(member)]),
  );
  return { ...schema, properties, required: [] };
}

/**
 * A parsed model file in which each upstream that refers to a provider has what the provider's file says.
 *
 * @param parsed of any form; what is not that of a model file is left to the check of the form.
 * @throws {ModelFileError} there is no such provider, or its file is invalid.
 */
export function mergeProviders(file: string, parsed: unknown, providers: KnownProviders): unknown {
  if (!isRecord(parsed)) return parsed;
  const merge = (at: string, upstreams: unknown): unknown =>
    Array.isArray(upstreams)
      ? upstreams.map((upstream: unknown, index) => mergeProvider(file, `${at}.${index}`, upstream, providers))
      : upstreams;
  if (!isRecord(parsed['routes'])) return { ...parsed, ...pick(parsed, 'upstreams', merge) };
  const routes = Object.entries(parsed['routes']).map(([name, route]) => [
    name,
    isRecord(route) ? { ...route, ...pick(route, 'upstreams', merge, `routes.${name}.`) } : route,
  ]);
  return { ...parsed, routes: Object.fromEntries(routes) as unknown };
}

function pick(
  from: Readonly<Record<string, unknown>>,
  name: string,
  merge: (at: string, value: unknown) => unknown,
  prefix = '',
): Readonly<Record<string, unknown>> {
  return Object.hasOwn(from, name) ? { [name]: merge(`${prefix}${name}`, from[name]) } : {};
}

function mergeProvider(file: string, at: string, upstream: unknown, providers: KnownProviders): unknown {
  if (!isRecord(upstream) || typeof upstream['provider'] !== 'string') return upstream;
  const named = upstream['provider'];
  const provider = providers.byName.get(named);
  if (provider === undefined) {
    const problem = providers.invalid.has(named)
      ? `the file of the provider ${JSON.stringify(named)} is invalid`
      : `there is no provider ${JSON.stringify(named)}`;
    throw new ModelFileError(file, `${at}.provider: ${problem}`);
  }
  const { name, credential } = provider;
  return mergePatch({ id: name, ...(credential === 'none' ? {} : { secret: name }), ...provider.upstream }, upstream);
}

/** RFC 7396. */
function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const merged = new Map(Object.entries(isRecord(target) ? target : {}));
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name);
    else merged.set(name, mergePatch(merged.get(name), value));
  }
  return Object.fromEntries(merged);
}
