/**
 * The errors of the reference: which codes a route can respond with, and how each is described (contract §1). The
 * actual responses are decided in app/errors.ts alone; the walk over all routes compares the two
 * (test/http/contract-walk.test.ts).
 */
import { ERROR_KINDS, factsOf } from '@darkroom/api/facts/error-kinds';
import type { ErrorKind } from '@darkroom/api/facts/error-kinds';
import { Type } from 'typebox';
import type { TSchema } from 'typebox';
import { errorBody } from '../../text/encoder.ts';
import { failure } from '@darkroom/api/tasks/envelope';
import { RpcFailureSchema, rpcFailure } from '@darkroom/api/mcp/json-rpc';
import { errorFormOf, textProblemOf } from '../app/errors.ts';
import type { ErrorForm } from '../app/errors.ts';
import { valueOf } from './parts.ts';
import type { OpenApiNode, OpenApiParts } from './parts.ts';
import type { Route } from '../app/route.ts';
import { ViolationSchema } from '@darkroom/api/tasks/violation';

/**
 * The kinds that the reference describes: one for each code. HTTP's own rejections are described separately (431) or
 * belong to no operation.
 */
const DESCRIBED = new Map<string, ErrorKind>();
for (const kind of Object.keys(ERROR_KINDS) as ErrorKind[]) {
  const { errorCode } = ERROR_KINDS[kind];
  if (kind !== 'method_not_allowed' && !DESCRIBED.has(errorCode)) DESCRIBED.set(errorCode, kind);
}

/** The body of every error. */
const FailureSchema = Type.Object(
  {
    code: Type.Integer({ minimum: 400, maximum: 599, description: 'Equal to the HTTP status.' }),
    message: Type.String({ description: 'A readable message. It names the invalid field, if there is one.' }),
    data: Type.Null(),
    error_code: Type.String({ description: 'A code for programs.' }),
  },
  { additionalProperties: false },
);

/** The same with what programs need to know about a rejected field. */
const AdminFailureSchema = Type.Object(
  {
    ...FailureSchema.properties,
    violations: Type.Optional(
      Type.Array(ViolationSchema, {
        description: 'The validation errors of the request, if the invalid field is known.',
      }),
    ),
  },
  { additionalProperties: false },
);

/** The same with the fields that clients of OpenAI's API read (contract §9). */
const TextFailureSchema = Type.Object(
  {
    ...FailureSchema.properties,
    error: Type.Object(
      {
        message: Type.String(),
        type: Type.String(),
        param: Type.Unsafe<string | null>({ type: ['string', 'null'] }),
        code: Type.Unsafe<string | null>({ type: ['string', 'null'] }),
      },
      { additionalProperties: false },
    ),
  },
  { additionalProperties: false },
);

/** Schemas that are components under their names. */
export const ERROR_SCHEMAS = {
  Failure: FailureSchema,
  AdminFailure: AdminFailureSchema,
  TextFailure: TextFailureSchema,
  RpcFailure: RpcFailureSchema,
};

/** Every kind that a route can respond with. @throws {Error} the route names a code that the contract does not have. */
export function errorKindsOf(route: Route): readonly ErrorKind[] {
  const codes = new Set<string>(['INVALID_REQUEST', 'INTERNAL_ERROR']);
  if (route.access !== 'none') {
    for (const code of ['UNAUTHORIZED', 'RATE_LIMITED', 'SERVICE_UNAVAILABLE']) codes.add(code);
    if (route.access !== 'operator') codes.add('ACCOUNT_SUSPENDED');
    if (route.access !== 'operator' && route.access !== 'any') codes.add('FORBIDDEN');
  }
  if (route.body !== undefined) codes.add('PAYLOAD_TOO_LARGE').add('UNSUPPORTED_MEDIA_TYPE');
  for (const code of route.errors ?? []) codes.add(code);
  const known = [...DESCRIBED].filter(([code]) => codes.delete(code)).map(([, kind]) => kind);
  if (codes.size > 0) throw new Error(`${route.operationId}: no such error code: ${[...codes].join(', ')}`);
  return known;
}

/** The error responses of a route, by status. */
export function errorResponses(route: Route, parts: OpenApiParts): OpenApiNode {
  const kinds = errorKindsOf(route);
  const form = errorFormOf(route.path);
  const statuses = [...new Set(kinds.map((kind) => factsOf(kind).status))];
  const responses = statuses.map((status): [number, OpenApiNode] => {
    const ofStatus = kinds.filter((kind) => factsOf(kind).status === status);
    const name = ofStatus.map((kind) => pascalCase(factsOf(kind).errorCode)).join('Or');
    return [status, response(name, ofStatus, { parts, form })];
  });
  // HTTP itself rejects these (http/app/server.ts): a long query string is part of what is limited.
  if (route.query !== undefined) {
    responses.push([431, response('HeadersTooLarge', ['headers_too_large'], { parts, form: 'text' })]);
  }
  return Object.fromEntries(responses);
}

interface FailureForm {
  readonly schema: TSchema;
  /** An example for each case, and the `error_code` in it. */
  readonly bodies: readonly unknown[];
  readonly codes: readonly string[];
  /** What is certain about the schema for one status. */
  readonly narrowed?: (status: number, codes: readonly string[]) => OpenApiNode;
}

/** Prefixes that distinguish the names of responses, by form. */
const NAME_PREFIXES: Readonly<Record<ErrorForm, string>> = {
  envelope: '',
  admin: 'Admin',
  text: 'Text',
  models: 'Models',
  'json-rpc': 'Rpc',
};

/** @param kinds of one status. */
function response(
  name: string,
  kinds: readonly ErrorKind[],
  { parts, form }: { readonly parts: OpenApiParts; readonly form: ErrorForm },
): OpenApiNode {
  return failureResponse(`${NAME_PREFIXES[form]}${name}`, kinds, parts, failureForm(kinds, form));
}

const FAILURE_SCHEMAS = {
  envelope: FailureSchema,
  admin: AdminFailureSchema,
  text: TextFailureSchema,
  models: TextFailureSchema,
} as const;

function failureForm(kinds: readonly ErrorKind[], form: ErrorForm): FailureForm {
  if (form === 'json-rpc') return rpcForm(kinds);
  const bodies = kinds.map((kind) => {
    const { message } = factsOf(kind);
    const isEnvelope = form === 'envelope' || form === 'admin';
    return isEnvelope ? failure(kind, message) : errorBody(textProblemOf({ kind, message }, form));
  });
  const schema = FAILURE_SCHEMAS[form];
  return { schema, bodies, codes: bodies.map((body) => body.error_code) };
}

function rpcForm(kinds: readonly ErrorKind[]): FailureForm {
  const bodies = kinds.map((kind) => rpcFailure(kind, factsOf(kind).message));
  const narrowed = (status: number, codes: readonly string[]): OpenApiNode => ({
    properties: {
      error: {
        type: 'object',
        // Linters assume that there are no other members than those named here.
        properties: {
          code: {},
          message: {},
          data: { type: 'object', properties: narrowedCodes('status', status, codes) },
        },
      },
    },
  });
  const codes = bodies.map(({ error }) => error.data.error_code);
  return { schema: RpcFailureSchema, bodies, codes, narrowed };
}

function envelopeNarrowed(status: number, codes: readonly string[]): OpenApiNode {
  return { properties: narrowedCodes('code', status, codes) };
}

/** With types: generators of clients merge these with the ones in the common schema. */
function narrowedCodes(member: string, status: number, codes: readonly string[]): OpenApiNode {
  return { [member]: valueOf(status), error_code: { type: 'string', enum: codes } };
}

function failureResponse(
  name: string,
  kinds: readonly ErrorKind[],
  parts: OpenApiParts,
  { schema, bodies, codes, narrowed = envelopeNarrowed }: FailureForm,
): OpenApiNode {
  const status = kinds[0] === undefined ? 500 : factsOf(kinds[0]).status;
  return parts.addResponse(name, () => ({
    description: kinds.map((kind, index) => `\`${codes[index]}\`: ${factsOf(kind).description}`).join('\n\n'),
    headers: errorHeaders(status, parts),
    content: {
      'application/json': {
        schema: {
          allOf: [parts.schema(schema), { type: 'object', ...narrowed(status, codes) }],
        },
        examples: Object.fromEntries(kinds.map((kind, index) => [factsOf(kind).errorCode, { value: bodies[index] }])),
      },
    },
  }));
}

function errorHeaders(status: number, parts: OpenApiParts): OpenApiNode {
  return {
    'X-Request-Id': requestIdHeader(parts),
    ...(status === 401 ? { 'WWW-Authenticate': authenticateHeader(parts) } : {}),
    ...(status === 429 || status === 503 ? { 'Retry-After': retryAfterHeader(parts) } : {}),
  };
}

/** `X-Request-Id`, which every response carries. */
export function requestIdHeader(parts: OpenApiParts): OpenApiNode {
  return parts.addHeader('X-Request-Id', () => ({
    description: 'The id of this request. If you send this header in the same format, your value is returned.',
    required: true,
    schema: { type: 'string', pattern: '^[\\w-]{1,64}$' },
  }));
}

function authenticateHeader(parts: OpenApiParts): OpenApiNode {
  return parts.addHeader('WWW-Authenticate', () => ({
    description: 'The authentication scheme to use.',
    required: true,
    schema: { type: 'string', enum: ['Bearer'] },
  }));
}

function retryAfterHeader(parts: OpenApiParts): OpenApiNode {
  return parts.addHeader('Retry-After', () => ({
    description: 'The number of seconds to wait before the next attempt.',
    required: true,
    schema: { type: 'integer', minimum: 1 },
  }));
}

/** `RATE_LIMITED` as a component's name: `RateLimited`. */
function pascalCase(code: string): string {
  return code.toLowerCase().replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
