/**
 * The form of a model file: one JSON document per model, in `models/` or an operator's `MODELS_DIR`. A definition is
 * pinned by the hash of its content (architecture, "Models are pinned"): a task runs to its end under the one it was
 * accepted with.
 */
import { createHash } from 'node:crypto';
import { TASK_MODALITIES } from '@darkroom/api/facts/modalities';
import type { TaskModality } from '@darkroom/api/facts/modalities';
import { PricingSchema, UNIT_PRICE } from '@darkroom/api/tasks/pricing';
import { Type } from 'typebox';
import type { Static, TObject, TSchema } from 'typebox';
import { canonicalJson } from '../domain/json.ts';
import { USAGE_NAMES } from '../domain/provider-usage.ts';
import type { UsageName } from '../domain/provider-usage.ts';
import { DialectsSchema } from './openai-endpoints.ts';
import type { Protocol } from './protocol.ts';

/** What a model makes. */
export type Modality = TaskModality;

/** The maximum number of upstreams of a route, once its pools are expanded. */
export const MAX_MEMBERS = 64;

/** For editors; nothing else reads it. */
export const EditorSchema = Type.String({
  description: 'The JSON Schema of the file, for editors: `npm run admin -- models schema` prints it.',
});

/** The name of a provider, which is that of its credential and of its directory too. */
export const PROVIDER_NAME = '^[a-z0-9][a-z0-9_]{0,63}$';
const Name = Type.String({ minLength: 1, maxLength: 200, pattern: '^[A-Za-z0-9][A-Za-z0-9._:/-]*$' });
const RouteName = Type.String({ minLength: 1, maxLength: 64, pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$' });

const Id = (description: string) => Type.String({ pattern: '^[a-z0-9][a-z0-9_-]{0,63}$', description });
const BaseUrl = Type.String({
  minLength: 1,
  maxLength: 2048,
  pattern: '^https?://',
  description: 'The address to which paths are appended. It may be http and private.',
});
const SecretName = Type.String({
  minLength: 1,
  maxLength: 64,
  pattern: '^[a-z0-9_]+$',
  description: 'The name of the credential: `fal` is `UPSTREAM_FAL_KEY`. Never the credential itself.',
});
const Concurrency = Type.Integer({
  minimum: 1,
  maximum: 100_000,
  description: 'The most jobs in progress at once, over all workers and models. Other tasks wait.',
});
const Weight = Type.Integer({
  minimum: 0,
  maximum: 1_000,
  description: 'The share of the tasks of a balanced route. Default: 1.',
});

const Rate = Type.String({ pattern: UNIT_PRICE, description: 'Decimal USD for one.' });

/**
 * What work of an upstream costs the operator if the upstream does not report it: rates in decimal USD for the usage
 * that it reports, or else the form of a price, calculated from the input.
 */
const CostRuleSchema = Type.Object(
  {
    usage: Type.Optional(
      Type.Unsafe<Partial<Record<UsageName, string>>>(
        Type.Object(Object.fromEntries(USAGE_NAMES.map((name) => [name, Type.Optional(Rate)])), {
          additionalProperties: false,
          minProperties: 1,
          description: 'Rates for what the provider reports as usage. Each quantity that has a rate must be reported.',
        }),
      ),
    ),
    pricing: Type.Optional({
      ...PricingSchema,
      description: 'A price rule in the form of the `pricing` of a model, for finished work without usage.',
    }),
  },
  {
    additionalProperties: false,
    minProperties: 1,
    description: 'What the work costs the operator if the provider does not report a cost.',
  },
);

/** How a route chooses among upstreams that can take a task (src/generation/submit-with-fallback.ts). */
export type Balance = 'ordered' | 'least_busy' | 'weighted';

/**
 * An upstream of a route. `id` is what callers read in a task's timeline and what limits are counted by; by default
 * it is the protocol and the host. `concurrency` caps the jobs in progress there at once, over all workers and
 * models: each model that uses the same upstream states it, and the smallest applies. `weight` is its share where the
 * route is balanced. `provider` is the file from which the other members come (provider-file.ts). A protocol adds its
 * own fields (protocol.ts).
 */
const UpstreamSchema = Type.Object(
  {
    id: Type.Optional(
      Id('Its name in timelines, records and limits. Default: that of the provider, or else protocol and host.'),
    ),
    provider: Type.Optional(
      Type.String({ pattern: PROVIDER_NAME, description: 'The provider whose file has the other members.' }),
    ),
    protocol: Type.String({
      minLength: 1,
      maxLength: 64,
      description: 'How it is called: `http`, `openai`, `replicate`, `cog`, `tasks` or `embedded`.',
    }),
    baseUrl: Type.Optional(BaseUrl),
    secret: Type.Optional(SecretName),
    model: Type.String({ minLength: 1, maxLength: 300, description: "The upstream's own name for the model." }),
    parameters: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description: 'Fields that are always sent. They override those of the client.',
      }),
    ),
    concurrency: Type.Optional(Concurrency),
    weight: Type.Optional(Weight),
    cost: Type.Optional(CostRuleSchema),
  },
  { additionalProperties: false },
);

const FALLBACKS = ['refused', 'unbilled_failure'] as const;

/**
 * When the next upstream of a route may take a task: only if the one before it has accepted nothing, which is the
 * default, or also after a job that failed and that the provider says it does not bill.
 */
export type Fallback = (typeof FALLBACKS)[number];

/** A server or a credential of an entry, as a member of its pool (expand-pools.ts). */
const MemberId = Id(
  'Its part of the id of the pool member. Default: a digest of the base URL, or the name of the credential.',
);
const member = { id: Type.Optional(MemberId), weight: Type.Optional(Weight), concurrency: Type.Optional(Concurrency) };

/** What an entry of a model file can have instead of `baseUrl` and `secret`. */
const PoolSchema = Type.Object({
  servers: Type.Optional(
    Type.Array(Type.Object({ baseUrl: BaseUrl, ...member }, { additionalProperties: false }), {
      minItems: 1,
      maxItems: MAX_MEMBERS,
      description: 'Several equal servers instead of `baseUrl`: a pool.',
    }),
  ),
  credentials: Type.Optional(
    Type.Array(Type.Object({ secret: SecretName, ...member }, { additionalProperties: false }), {
      minItems: 1,
      maxItems: MAX_MEMBERS,
      description: 'Several credentials instead of `secret`: a pool.',
    }),
  ),
});

function routesOf<Upstream extends TSchema>(upstream: Upstream) {
  const upstreams = Type.Array(upstream, { minItems: 1, maxItems: 8 });
  const balance = Type.Optional(Type.Unsafe<Balance>({ type: 'string', enum: ['ordered', 'least_busy', 'weighted'] }));
  const fallback = Type.Optional(Type.Unsafe<Fallback>({ type: 'string', enum: [...FALLBACKS] }));
  const route = Type.Object({ upstreams, balance, fallback }, { additionalProperties: false });
  return Type.Record(RouteName, route, { additionalProperties: false });
}

const Seconds = Type.Integer({ minimum: 1, maximum: 604_800 });
const UnixSeconds = Type.Integer({ minimum: 0, maximum: 253_402_300_799 });

/**
 * The whole file. `limits` bound the task's stages, each with a default (`limitsOf`); `typicalSeconds` is what
 * `Retry-After` is calculated from. From `deprecatedAt` on, clients should not start to use a model; from `retiresAt`
 * on, it accepts no requests; `replacement` is the model to use instead. `dialects` maps the fields of other APIs to the
 * input.
 */
const ModelDefinitionSchema = Type.Object(
  {
    $schema: Type.Optional(EditorSchema),
    name: Name,
    modality: Type.Unsafe<Modality>({ type: 'string', enum: [...TASK_MODALITIES] }),
    ownedBy: Type.String({ minLength: 1, maxLength: 100 }),
    created: Type.Integer({ minimum: 0 }),
    description: Type.String({ minLength: 1, maxLength: 4000 }),
    routes: routesOf(UpstreamSchema),
    inputSchema: Type.Record(Type.String(), Type.Unknown()),
    pricing: PricingSchema,
    dialects: Type.Optional(DialectsSchema),
    limits: Type.Optional(
      Type.Object(
        {
          queuedSeconds: Type.Optional(Seconds),
          handlingSeconds: Type.Optional(Seconds),
          archivingSeconds: Type.Optional(Seconds),
        },
        { additionalProperties: false },
      ),
    ),
    typicalSeconds: Type.Number({ minimum: 0, maximum: 86_400 }),
    examples: Type.Array(Type.Record(Type.String(), Type.Unknown()), { minItems: 1, maxItems: 50 }),
    deprecatedAt: Type.Optional(UnixSeconds),
    retiresAt: Type.Optional(UnixSeconds),
    replacement: Type.Optional(Name),
  },
  { additionalProperties: false },
);

type DefinitionFile = Static<typeof ModelDefinitionSchema>;
type RouteFile = DefinitionFile['routes'][string];

/**
 * What the reader of model files makes of an entry: a member of a pool names the pool, and its server if the pool has
 * several.
 */
export type Upstream = RouteFile['upstreams'][number] & { readonly pool?: string; readonly server?: string };

export type ModelDefinition = Omit<DefinitionFile, 'routes'> & {
  routes: Record<string, Omit<RouteFile, 'upstreams'> & { upstreams: Upstream[] }>;
};

/** An entry of a route as a model file has it. */
export type UpstreamEntry = RouteFile['upstreams'][number] & Static<typeof PoolSchema>;

/** The form of an upstream with the fields of these protocols, as it is once its provider is merged. */
export function upstreamSchema(protocols: readonly Protocol[]): TObject {
  const own = protocols.flatMap(({ fields = {} }) => Object.entries(fields));
  const fields = Object.fromEntries(own.map(([field, schema]) => [field, Type.Optional(schema)]));
  return Type.Object(
    { ...UpstreamSchema.properties, ...PoolSchema.properties, ...fields },
    { additionalProperties: false },
  );
}

/** The form of a model file in which upstreams can have the fields of these protocols. */
export function modelDefinitionSchema(protocols: readonly Protocol[]): TObject {
  return modelSchemaWith(upstreamSchema(protocols));
}

/** The form of a model file. @param upstream that of its upstreams. */
export function modelSchemaWith(upstream: TSchema): TObject {
  return Type.Object(
    { ...ModelDefinitionSchema.properties, routes: routesOf(upstream) },
    { additionalProperties: false },
  );
}

/** The route that a request gets when it names none (contract §2). */
export const DEFAULT_ROUTE = 'default';

/** The name of a model with its route, unless that is the default one: `base`, or `base@route` (contract §3). */
export function fullNameOf(name: string, route: string): string {
  return route === DEFAULT_ROUTE ? name : `${name}@${route}`;
}

/** The upstreams of a route in the order in which they are tried; `null` is the default route. Empty: no such route. */
export function upstreamsOf(definition: ModelDefinition, route: string | null): readonly Upstream[] {
  return definition.routes[route ?? DEFAULT_ROUTE]?.upstreams ?? [];
}

/** When the next upstream of a route may take a task. */
export function fallbackOf(definition: ModelDefinition, route: string | null): Fallback {
  return definition.routes[route ?? DEFAULT_ROUTE]?.fallback ?? 'refused';
}

/** How a route chooses among its upstreams. */
export function balanceOf(definition: ModelDefinition, route: string | null): Balance {
  return definition.routes[route ?? DEFAULT_ROUTE]?.balance ?? 'ordered';
}

/** The upstream that a route tries first. Undefined if the definition has no such route. */
export function upstreamOf(definition: ModelDefinition, route: string | null): Upstream | undefined {
  return upstreamsOf(definition, route)[0];
}

/** How long the stages of a task may take, in whole seconds. */
export interface StageLimits {
  /** The time limit from the creation of a task until a worker starts it, in seconds. */
  readonly queuedSeconds: number;
  /** The time limit from then until the provider's files are available, in seconds. */
  readonly handlingSeconds: number;
  /** Copying the files into the object store. */
  readonly archivingSeconds: number;
}

/**
 * The default limit of the handling stage, by modality. The values are ours, because spec §8 does not show the
 * time-outs.
 */
const HANDLING_SECONDS: Readonly<Record<Modality, number>> = {
  image: 600,
  audio: 900,
  video: 3_600,
  transcription: 3_600,
};
const QUEUED_SECONDS = 86_400;
const ARCHIVING_SECONDS = 1_800;

/** The model's limits: its own, or else those of its modality. */
export function limitsOf({ modality, limits }: ModelDefinition): StageLimits {
  return {
    queuedSeconds: limits?.queuedSeconds ?? QUEUED_SECONDS,
    handlingSeconds: limits?.handlingSeconds ?? HANDLING_SECONDS[modality],
    archivingSeconds: limits?.archivingSeconds ?? ARCHIVING_SECONDS,
  };
}

/** The name by which a definition is pinned: SHA-256, hex, over its content, whatever the order of its fields. */
export function definitionHash(definition: object): string {
  return createHash('sha256').update(canonicalJson(definition)).digest('hex');
}
