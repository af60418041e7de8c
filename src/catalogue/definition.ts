/**
 * The form of a model file: one JSON document a model, in `models/` or an operator's `MODELS_DIR`. A definition is pinned
 * by the hash of its content (architecture, "Models are pinned"): a task runs to its end under the one it was accepted
 * with.
 */
import { createHash } from 'node:crypto';
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { canonicalJson } from '../domain/canonical-json.ts';

const UsdAmount = Type.String({ pattern: '^[0-9]{1,9}(\\.[0-9]{1,6})?$' });
const Name = Type.String({ minLength: 1, maxLength: 200, pattern: '^[A-Za-z0-9][A-Za-z0-9._:/-]*$' });
const RouteName = Type.String({ minLength: 1, maxLength: 64, pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$' });

const UpstreamSchema = Type.Object(
  {
    protocol: Type.String({ minLength: 1, maxLength: 64 }),
    baseUrl: Type.Optional(Type.String({ minLength: 1, maxLength: 2048, pattern: '^https?://' })),
    secret: Type.Optional(Type.String({ minLength: 1, maxLength: 64, pattern: '^[a-z0-9_]+$' })),
    model: Type.String({ minLength: 1, maxLength: 300 }),
    parameters: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  },
  { additionalProperties: false },
);

/** Decimal USD for one unit; `by` gives other prices by the value of one input field. */
const PricingSchema = Type.Object(
  {
    unit: Type.Literal('image'),
    usd: UsdAmount,
    by: Type.Optional(
      Type.Object(
        { field: Type.String({ minLength: 1, maxLength: 100 }), usd: Type.Record(Type.String(), UsdAmount) },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false },
);

const Seconds = Type.Integer({ minimum: 1, maximum: 604_800 });

/** The whole file. `limits` bound the task's stages; `typicalSeconds` is what `Retry-After` is reckoned from. */
export const ModelDefinitionSchema = Type.Object(
  {
    $schema: Type.Optional(Type.String()),
    name: Name,
    modality: Type.Union([Type.Literal('image'), Type.Literal('video'), Type.Literal('audio')]),
    ownedBy: Type.String({ minLength: 1, maxLength: 100 }),
    created: Type.Integer({ minimum: 0 }),
    description: Type.String({ minLength: 1, maxLength: 4000 }),
    routes: Type.Record(
      RouteName,
      Type.Object(
        { upstreams: Type.Array(UpstreamSchema, { minItems: 1, maxItems: 8 }) },
        { additionalProperties: false },
      ),
    ),
    inputSchema: Type.Record(Type.String(), Type.Unknown()),
    pricing: PricingSchema,
    limits: Type.Object(
      { queuedSeconds: Seconds, handlingSeconds: Seconds, archivingSeconds: Seconds },
      { additionalProperties: false },
    ),
    typicalSeconds: Type.Number({ minimum: 0, maximum: 86_400 }),
    examples: Type.Array(Type.Record(Type.String(), Type.Unknown()), { minItems: 1, maxItems: 50 }),
  },
  { additionalProperties: false },
);

export type ModelDefinition = Static<typeof ModelDefinitionSchema>;

/** The route that a request gets when it names none (contract §2). */
export const DEFAULT_ROUTE = 'default';

/** The protocol of what this program's own engines do; everything else is an upstream. */
export const EMBEDDED_PROTOCOL = 'embedded';

/** The upstream that works for a route; `null` is the default one. Undefined where the definition has no such route. */
export function upstreamOf(
  definition: ModelDefinition,
  route: string | null,
): ModelDefinition['routes'][string]['upstreams'][number] | undefined {
  return definition.routes[route ?? DEFAULT_ROUTE]?.upstreams[0];
}

/** The name by which a definition is pinned: SHA-256, hex, over its content whatever the order of its fields. */
export function definitionHash(definition: ModelDefinition): string {
  return createHash('sha256').update(canonicalJson(definition)).digest('hex');
}
