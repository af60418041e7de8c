/**
 * Provider files, `providers/<name>/provider.json` in a directory of model files: what all models of one provider have
 * in common. An upstream of a model refers to it by `provider` and has its `upstream` merged under its own members
 * (RFC 7396), so that a pinned definition contains everything and refers to nothing. What is wrong with a member is
 * reported for the file that it comes from.
 */
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { Type } from 'typebox';
import type { Static, TObject } from 'typebox';
import { hasMember, isRecord, memberOf } from '../domain/json.ts';
import { compileCheck } from '../schema/schema-validation.ts';
import { EditorSchema, PROVIDER_NAME } from './definition.ts';
import { ModelFileError, isProviderFile, parseModelFile } from './model-files.ts';
import type { ModelTexts } from './model-files.ts';
import { describeUpstreamProblem } from './protocol.ts';
import type { UpstreamProblem } from './protocol.ts';

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
function providerFileCheck(
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

interface ReadProviders {
  /** The same object as long as no provider has changed. */
  readonly known: KnownProviders;
  readonly problems: readonly ModelFileError[];
}

/**
 * Reads the provider files of some directories. A bad one keeps what it was when it was last good.
 *
 * @param upstreams the forms of an upstream; where several have a member, the last one defines it.
 */
export function createProviderReader(upstreams: readonly TObject[]): (texts: ModelTexts) => ReadProviders {
  const check = providerFileCheck(upstreams);
  let accepted = new Map<string, { readonly text: string; readonly provider: ProviderFile }>();
  let known: KnownProviders = { byName: new Map(), files: new Map(), invalid: new Set() };
  return (texts) => {
    const problems: ModelFileError[] = [];
    const readable: typeof accepted = new Map();
    const byName = new Map<string, ProviderFile>();
    const files = new Map<string, string>();
    const invalid = new Set<string>();
    for (const [file, text] of texts) {
      if (!isProviderFile(file)) continue;
      const before = accepted.get(file);
      const read = before !== undefined && before.text === text ? before.provider : readProvider(file, text, check);
      const other = read instanceof ModelFileError ? undefined : byName.get(read.name);
      const problem =
        other === undefined ? read : new ModelFileError(file, `name: another provider is called ${other.name}`);
      if (problem instanceof ModelFileError) problems.push(problem);
      const provider = problem instanceof ModelFileError ? before?.provider : problem;
      if (provider === undefined) invalid.add(nameIn(file));
      if (provider === undefined || byName.has(provider.name)) continue;
      readable.set(file, { text: typeof text === 'string' ? text : '', provider });
      byName.set(provider.name, provider);
      files.set(provider.name, file);
    }
    accepted = readable;
    const isSame =
      isDeepStrictEqual(invalid, known.invalid) &&
      isDeepStrictEqual(files, known.files) &&
      [...byName].every(([name, provider]) => known.byName.get(name) === provider);
    if (!isSame) known = { byName, files, invalid };
    return { known, problems };
  };
}

function readProvider(
  file: string,
  text: string | ModelFileError,
  check: ReturnType<typeof providerFileCheck>,
): ProviderFile | ModelFileError {
  if (text instanceof ModelFileError) return text;
  try {
    const provider = check(file, parseModelFile(file, text));
    if (provider instanceof ModelFileError || provider.name === nameIn(file)) return provider;
    return new ModelFileError(file, `name: the provider in this directory is ${nameIn(file)}`);
  } catch (error) {
    if (error instanceof ModelFileError) return error;
    throw error;
  }
}

/** The name that the provider of a file has: that of its directory. */
function nameIn(file: string): string {
  return path.basename(path.dirname(file));
}

/** A problem with its position in the model file, or of an upstream. */
export type Problem = string | UpstreamProblem;

interface ModelFile {
  readonly file: string;
  /** Its own content. */
  readonly own: unknown;
  readonly providers: KnownProviders;
}

/**
 * Finds out in which file each problem is, and its position there: an upstream that refers to a provider has members of
 * two files.
 *
 * @returns the problems with their files. A file of a provider need not fit the input of every model.
 */
export function locateProblems(problems: readonly Problem[], model: ModelFile): readonly ModelFileError[] {
  return problems.flatMap((problem) => {
    if (typeof problem === 'string') return new ModelFileError(model.file, problem);
    const providerFile = problem.kind === 'gap' ? undefined : findProviderFile(problem, model);
    if (providerFile === undefined) return new ModelFileError(model.file, describeUpstreamProblem(problem));
    return problem.kind === 'input' ? [] : new ModelFileError(providerFile, `upstream.${problem.problem}`);
  });
}

/** The file of the provider, if it is the one that has the member. */
function findProviderFile({ route, index, problem }: UpstreamProblem, model: ModelFile): string | undefined {
  const { own, providers } = model;
  const entry = memberOf(memberOf(memberOf(memberOf(own, 'routes'), route), 'upstreams'), String(index));
  const name = memberOf(entry, 'provider');
  const provider = typeof name === 'string' ? providers.byName.get(name) : undefined;
  if (provider === undefined) return undefined;
  const [position = ''] = problem.split(':', 1);
  return isOfProvider(position.split('.'), entry, provider.upstream) ? providers.files.get(provider.name) : undefined;
}

/** Whether the first step that the model file does not have is in that of the provider. */
function isOfProvider(steps: readonly string[], own: unknown, provided: unknown): boolean {
  let [ofModel, ofProvider] = [own, provided];
  for (const step of steps) {
    if (hasMember(ofModel, step)) {
      ofModel = memberOf(ofModel, step);
      ofProvider = memberOf(ofProvider, step);
      // Anything but an object replaces what the provider has.
      if (!isRecord(ofModel)) return false;
      continue;
    }
    return hasMember(ofProvider, step);
  }
  return false;
}
