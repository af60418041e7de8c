/**
 * The OpenAPI 3.1 document, generated from the list of routes and the catalogue: nothing in it is written by hand
 * that a route or a schema already states.
 */
import { reasoningEffort } from '@darkroom/api/openai/optional-parts';
import { AccountSchema } from '@darkroom/api/tasks/account';
import { EstimateSchema } from '@darkroom/api/tasks/estimate';
import { FileSchema } from '@darkroom/api/tasks/file';
import { CreatedKeySchema, KeySchema } from '@darkroom/api/tasks/key';
import { LedgerEntrySchema } from '@darkroom/api/tasks/ledger';
import { ModelDetailSchema, ModelSchema } from '@darkroom/api/tasks/model';
import { StorageDecisionSchema } from '@darkroom/api/tasks/storage';
import { OutputSchema, TaskSchema } from '@darkroom/api/tasks/task';
import { WebhookKeySchema } from '@darkroom/api/tasks/webhook-key';
import type { ModelDefinition } from '../../catalogue/definition.ts';
import { ROUTE_TAGS } from '../app/route.ts';
import type { Route } from '../app/route.ts';
import { createTaskBody } from './create.ts';
import { ERROR_SCHEMAS } from './errors.ts';
import { openApiPath, operationOf } from './operation.ts';
import { OpenApiParts } from './parts.ts';
import type { OpenApiNode } from './parts.ts';
import { SCHEMA_EXAMPLES, SECURITY_SCHEMES, TAG_DESCRIPTIONS } from './text.ts';

export interface OpenApiSource {
  readonly title: string;
  /** CommonMark: what applies to every operation. */
  readonly description: string;
  /** Where the API is: no trailing slash, no `/v1`. */
  readonly serverUrl: string;
  readonly routes: readonly Route[];
  /** The models that the body of `POST /tasks` describes. */
  readonly models: readonly ModelDefinition[];
}

/** Schemas that appear in the document once, under these names. */
const NAMED_SCHEMAS = {
  ...ERROR_SCHEMAS,
  Account: AccountSchema,
  CreatedKey: CreatedKeySchema,
  Estimate: EstimateSchema,
  Key: KeySchema,
  LedgerEntry: LedgerEntrySchema,
  Model: ModelSchema,
  ModelDetail: ModelDetailSchema,
  Output: OutputSchema,
  ReasoningEffort: reasoningEffort,
  StorageDecision: StorageDecisionSchema,
  // Not `File`: the languages of clients have a type of that name.
  StoredFile: FileSchema,
  Task: TaskSchema,
  WebhookKey: WebhookKeySchema,
};

/** Generates the document. Takes some milliseconds: the caller caches it. */
export function openApiDocument({ title, description, serverUrl, routes, models }: OpenApiSource): OpenApiNode {
  const parts = new OpenApiParts(NAMED_SCHEMAS, SCHEMA_EXAMPLES);
  const createBody = createTaskBody(models);
  const paths: Record<string, Record<string, OpenApiNode>> = {};
  for (const route of routes) {
    const operations = (paths[openApiPath(route.path)] ??= {});
    operations[route.method.toLowerCase()] = operationOf(route, { parts, createBody, routes });
  }
  const tags = new Set(routes.map((route) => route.tag));
  const isAdmin = routes.some((route) => route.access === 'operator');
  return {
    openapi: '3.1.0',
    info: {
      title,
      // The version of the contract, which the base path carries: changes within it only add (spec §9).
      version: '1',
      description,
      license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: serverUrl }],
    tags: ROUTE_TAGS.filter((tag) => tags.has(tag)).map((name) => ({ name, description: TAG_DESCRIPTIONS[name] })),
    paths,
    components: {
      ...parts.components(),
      securitySchemes: isAdmin ? { adminToken: SECURITY_SCHEMES.adminToken } : { apiKey: SECURITY_SCHEMES.apiKey },
    },
  };
}
