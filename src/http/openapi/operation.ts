/**
 * One route as an operation of the OpenAPI document: its parameters, its body, its responses, and links to others.
 */
import { CreateTaskSchema } from '@darkroom/api/tasks/create-task';
import { isOfOpenAi } from '../app/errors.ts';
import type { OtherResponse, Route, RouteResponse } from '../app/route.ts';
import { OPENAI_LIMIT_HEADERS } from '../middleware/limits.ts';
import type { CreateTaskBody } from './create.ts';
import { errorResponses, requestIdHeader } from './errors.ts';
import { valueOf } from './parts.ts';
import type { OpenApiNode, OpenApiParts } from './parts.ts';

/** Request headers whose form is known; the others are any text. */
const HEADER_SCHEMAS: Readonly<Record<string, OpenApiNode>> = {
  'Idempotency-Key': { type: 'string', minLength: 1, maxLength: 255, pattern: '^[!-~]+$' },
};

/** The context in which an operation is described. */
interface OperationContext {
  readonly parts: OpenApiParts;
  /** The body of `POST /tasks` with the input of every model. */
  readonly createBody: CreateTaskBody;
  /** All routes of the document. */
  readonly routes: readonly Route[];
}

export function operationOf(route: Route, { parts, createBody, routes }: OperationContext): OpenApiNode {
  const parameters = [...pathParameters(route), ...queryParameters(route, parts), ...headerParameters(route)];
  const description = [route.description, accessText(route)].filter(Boolean).join('\n\n');
  return {
    operationId: route.operationId,
    tags: [route.tag],
    summary: route.summary,
    ...(description === '' ? {} : { description }),
    security: securityOf(route),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(route.body === undefined ? {} : { requestBody: requestBodyOf(route.body, parts, createBody) }),
    responses: { ...goodResponses(route, parts, routes), ...errorResponses(route, parts) },
  };
}

/** `{modelName...}` of a route is `{modelName}` in OpenAPI, which has no notation for "slashes too". */
export function openApiPath(path: string): string {
  return path.replaceAll('...}', '}');
}

function accessText({ access, budget }: Route): string {
  if (access === 'none' || access === 'operator') return '';
  const needs = access === 'any' ? 'Any API key is accepted.' : `Requires the scope \`${access}\`.`;
  if (budget === 'text') return `${needs} Counts as a text call.`;
  return budget === undefined || budget === 'read' ? needs : `${needs} Counts as a create request.`;
}

function securityOf({ access }: Route): readonly OpenApiNode[] {
  if (access === 'none') return [];
  if (access === 'operator') return [{ adminToken: [] }];
  return [{ apiKey: access === 'any' ? [] : [access] }];
}

function pathParameters(route: Route): readonly OpenApiNode[] {
  return [...route.path.matchAll(/\{(\w+)(\.\.\.)?\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    description: route.params?.[name] ?? '',
    schema: { type: 'string', minLength: 1 },
  }));
}

function queryParameters(route: Route, parts: OpenApiParts): readonly OpenApiNode[] {
  const required = new Set<string>(route.query?.required ?? []);
  const named = Object.entries(route.query?.properties ?? {}).map(([name, schema]) => {
    const { description, ...rest } = parts.schema(schema);
    return {
      name,
      in: 'query',
      required: required.has(name),
      ...(description === undefined ? {} : { description }),
      ...(rest['type'] === 'array' ? { style: 'form', explode: true } : {}),
      schema: rest,
    };
  });
  return [...named, ...prefixedParameters(route)];
}

/** Parameters whose names share a prefix: the members of one object, each a parameter of its own. */
function prefixedParameters({ queryPrefix }: Route): readonly OpenApiNode[] {
  if (queryPrefix === undefined) return [];
  const name = queryPrefix.replace(/\W+$/, '');
  return [
    {
      name,
      in: 'query',
      required: false,
      description: `Any number of parameters \`${queryPrefix}<name>=<value>\`, at most one for each name. All of them must match.`,
      style: 'form',
      explode: true,
      schema: {
        type: 'object',
        propertyNames: { pattern: `^${queryPrefix.replaceAll('.', '\\.')}.` },
        additionalProperties: { type: 'string' },
      },
    },
  ];
}

/** OpenAPI ignores a parameter of this name: the content types of the responses state what can be accepted. */
const ACCEPT_HEADER = 'Accept';

function headerParameters({ headers = {} }: Route): readonly OpenApiNode[] {
  return Object.entries(headers)
    .filter(([name]) => name !== ACCEPT_HEADER)
    .map(([name, description]) => ({
      name,
      in: 'header',
      required: false,
      description,
      schema: HEADER_SCHEMAS[name] ?? { type: 'string' },
    }));
}

function requestBodyOf(body: NonNullable<Route['body']>, parts: OpenApiParts, createBody: CreateTaskBody): OpenApiNode {
  if (body.kind === 'raw') {
    return {
      required: true,
      description: body.description,
      content: {
        ...Object.fromEntries(
          body.mimeTypes.map((mimeType) => [
            mimeType,
            body.form === undefined || mimeType !== FORM ? rawContent(mimeType) : { schema: parts.schema(body.form) },
          ]),
        ),
        ...(body.json === undefined
          ? {}
          : { 'application/json': { schema: parts.schema(body.json.schema), example: body.json.example } }),
      },
    };
  }
  const isCreate = body.schema === CreateTaskSchema;
  const examples = isCreate ? createBody.examples : body.examples;
  return {
    required: body.isOptional !== true,
    content: {
      'application/json': {
        schema: isCreate ? createBody.schema(parts) : parts.schema(body.schema),
        ...(examples === undefined || Object.keys(examples).length === 0 ? {} : { examples }),
      },
    },
  };
}

const FORM = 'multipart/form-data';

function rawContent(mimeType: string): OpenApiNode {
  // Without a schema, generators leave the operation out.
  if (mimeType !== FORM) return { schema: { type: 'string', format: 'binary' } };
  const file = { type: 'string', contentMediaType: 'application/octet-stream' };
  return { schema: { type: 'object', required: ['file'], properties: { file }, additionalProperties: false } };
}

function goodResponses(route: Route, parts: OpenApiParts, routes: readonly Route[]): OpenApiNode {
  const { 200: alsoOk, ...others } = route.otherResponses ?? {};
  const headers = headersOf(route, parts);
  const links = linksOf(route, routes);
  const ok = {
    description: [route.response.kind === 'other' ? route.response.description : 'Success.', alsoOk?.description]
      .filter(Boolean)
      .join(' '),
    headers,
    content: { ...contentOf(route.response, parts), ...alsoContent(route.response, alsoOk, parts) },
    ...(Object.keys(links).length === 0 ? {} : { links }),
  };
  const isConditional = route.method === 'GET' && route.response.kind !== 'other';
  return {
    200: ok,
    ...(isConditional
      ? { 304: { description: 'Not modified: your copy (`If-None-Match`) is current.', headers } }
      : {}),
    ...Object.fromEntries(
      Object.entries(others).map(([status, response]) => {
        const content = contentOfOther(response, parts);
        const hasContent = Object.keys(content).length > 0;
        return [status, { description: response.description, headers, ...(hasContent ? { content } : {}) }];
      }),
    ),
  };
}

function contentOf(response: RouteResponse, parts: OpenApiParts): OpenApiNode {
  if (response.kind === 'other') return Object.fromEntries(response.mimeTypes.map((mimeType) => [mimeType, {}]));
  const isEnveloped = response.kind === 'data';
  const schema = parts.schema(response.schema);
  return {
    'application/json': {
      schema: isEnveloped ? enveloped(schema) : schema,
      ...(response.example === undefined
        ? {}
        : { example: isEnveloped ? successOf(response.example) : response.example }),
    },
  };
}

/** Another form of a success: JSON beside JSON is one of both. */
function alsoContent(response: RouteResponse, other: OtherResponse | undefined, parts: OpenApiParts): OpenApiNode {
  if (other?.schema === undefined || response.kind === 'other') return contentOfOther(other, parts);
  const { 'application/json': json } = contentOf(response, parts) as Record<string, { readonly schema: OpenApiNode }>;
  return { 'application/json': { ...json, schema: { anyOf: [json?.schema, parts.schema(other.schema)] } } };
}

function contentOfOther(response: OtherResponse | undefined, parts: OpenApiParts): OpenApiNode {
  if (response?.schema !== undefined) return { 'application/json': { schema: parts.schema(response.schema) } };
  return Object.fromEntries((response?.mimeTypes ?? []).map((mimeType) => [mimeType, {}]));
}

/** The envelope around the response data (contract §1). */
function enveloped(data: OpenApiNode): OpenApiNode {
  return {
    type: 'object',
    required: ['code', 'message', 'data', 'error_code'],
    properties: { code: valueOf(200), message: valueOf('success'), data, error_code: valueOf('') },
    additionalProperties: false,
  };
}

function successOf(data: unknown): OpenApiNode {
  return { code: 200, message: 'success', data, error_code: '' };
}

function headersOf(route: Route, parts: OpenApiParts): OpenApiNode {
  const hasKey = route.access !== 'none' && route.access !== 'operator';
  return {
    'X-Request-Id': requestIdHeader(parts),
    ...(hasKey ? rateLimitHeaders(parts) : {}),
    ...(hasKey && isOfOpenAi(route.path) ? describedHeaders(OPENAI_LIMIT_HEADERS) : {}),
    ...(route.method === 'GET' && route.response.kind !== 'other' ? { ETag: entityTagHeader(parts) } : {}),
    ...describedHeaders(route.responseHeaders ?? {}),
  };
}

function describedHeaders(headers: Readonly<Record<string, string>>): OpenApiNode {
  return Object.fromEntries(
    Object.entries(headers).map(([name, description]) => [name, { description, schema: { type: 'string' } }]),
  );
}

function rateLimitHeaders(parts: OpenApiParts): OpenApiNode {
  const header = (name: string, description: string): OpenApiNode =>
    parts.addHeader(name, () => ({ description, required: true, schema: { type: 'integer', minimum: 0 } }));
  return {
    'X-RateLimit-Limit': header(
      'X-RateLimit-Limit',
      'The number of requests of this kind that are allowed per minute.',
    ),
    'X-RateLimit-Remaining': header('X-RateLimit-Remaining', 'The number of requests that are allowed now.'),
    'X-RateLimit-Reset': header(
      'X-RateLimit-Reset',
      'The time when the full limit is available again, in Unix seconds.',
    ),
  };
}

function entityTagHeader(parts: OpenApiParts): OpenApiNode {
  return parts.addHeader('ETag', () => ({
    description: 'Send it as `If-None-Match` to check whether the response has changed.',
    schema: { type: 'string' },
  }));
}

/**
 * Links from an operation that creates something to the operations on it: the id that `POST /v1/files` returns is the
 * one that `/v1/files/{fileId}` takes. Tools follow them.
 *
 * @returns the links of a route's success, by the operations that they lead to; empty where it creates nothing.
 */
function linksOf(route: Route, routes: readonly Route[]): OpenApiNode {
  if (route.method !== 'POST' || route.response.kind !== 'data') return {};
  const { properties = {} } = route.response.schema as { readonly properties?: object };
  const links = routes.flatMap(({ path, operationId }) => {
    const parameter = path.startsWith(`${route.path}/`) ? firstParameter(path.slice(route.path.length + 1)) : undefined;
    if (parameter === undefined) return [];
    const field = [parameter, 'id'].find((name) => name in properties);
    if (field === undefined) return [];
    return [[operationId, { operationId, parameters: { [parameter]: `$response.body#/data/${field}` } }]];
  });
  return Object.fromEntries(links) as OpenApiNode;
}

/** `fileId` of `{fileId}/parts`; undefined where the rest of a path begins with something else. */
function firstParameter(rest: string): string | undefined {
  return /^\{(\w+)\}/.exec(rest)?.[1];
}
