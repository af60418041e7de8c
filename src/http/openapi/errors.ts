/**
 * The errors of the reference: which codes a route can respond with, and how each is described (contract §1). The
 * actual responses are decided in app/errors.ts alone; the walk over all routes compares the two
 * (test/http/contract-walk.test.ts).
 */
import { Type } from 'typebox';
import type { TSchema } from 'typebox';
import { errorBody } from '../../text/error-body.ts';
import { failure } from '@darkroom/api/tasks/envelope';
import { RpcFailureSchema, rpcFailure } from '@darkroom/api/mcp/json-rpc';
import { errorFormOf } from '../app/error-form.ts';
import type { ErrorForm } from '../app/error-form.ts';
import type { OpenApiNode, OpenApiParts } from './parts.ts';
import type { Route } from '../app/route.ts';
import { textProblemOf } from '../text/problem.ts';

interface ErrorCode {
  readonly status: number;
  readonly when: string;
  /** An example of the message. */
  readonly message: string;
}

/** Contract §1, in its order. */
const ERROR_CODES = {
  INVALID_REQUEST: {
    status: 400,
    when: 'The request is wrong in itself; the message names the field.',
    message: 'invalid input: image_urls: maxItems: got 4, want 3',
  },
  MODEL_UNAVAILABLE: {
    status: 400,
    when: 'The model is unknown, retired or unavailable at this moment.',
    message: 'the model "acme/none" does not exist or is not available; names are case-sensitive',
  },
  UNAUTHORIZED: {
    status: 401,
    when: 'The key is missing, malformed, unknown, revoked or expired: one answer for all.',
    message: 'the API key is missing or not valid; send Authorization: Bearer <API key>',
  },
  INSUFFICIENT_BALANCE: {
    status: 402,
    when: 'The available balance, or what the key may still spend, does not cover the worst-case cost.',
    message:
      'the request can cost up to 0.06 USD and 0.01 USD is available; ask for less, wait until running tasks release what they hold (GET /v1/account), or have whoever runs this service add to the balance',
  },
  FORBIDDEN: {
    status: 403,
    when: 'The key may not do this.',
    message: 'this key lacks the scope tasks:write',
  },
  ACCOUNT_SUSPENDED: { status: 403, when: 'The account is suspended.', message: 'this account is suspended' },
  URL_EXPIRED: {
    status: 403,
    when: 'The time of the URL has passed.',
    message: 'this download URL has expired; GET /v1/tasks/<id> gives a fresh one',
  },
  NOT_FOUND: {
    status: 404,
    when: "Unknown, or another account's: the same answer.",
    message: 'not found',
  },
  RESPONSE_IN_PROGRESS: {
    status: 409,
    when: 'The response is still being made.',
    message: 'the response resp_01M7Z0GCVXTPAJ0W4R12P3FJ4M is still in progress',
  },
  PAYLOAD_TOO_LARGE: {
    status: 413,
    when: 'The body is too large.',
    message: 'the body is larger than 256000 bytes',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    when: 'The body is not of a type that is taken here.',
    message: 'send the body as Content-Type: application/json, in UTF-8 and not compressed',
  },
  IDEMPOTENCY_KEY_MISMATCH: {
    status: 422,
    when: 'The same `Idempotency-Key` came with another body before.',
    message: 'this Idempotency-Key was used with a different request body; use a new key for a new request',
  },
  RATE_LIMITED: {
    status: 429,
    when: 'Too many requests, or too much in waiting already.',
    message: 'too many requests; slow down, and retry after the time in Retry-After',
  },
  INTERNAL_ERROR: {
    status: 500,
    when: 'A fault of ours.',
    message: 'an internal error occurred; retry later and name the X-Request-Id if it persists',
  },
  SERVICE_UNAVAILABLE: {
    status: 503,
    when: 'Something that the request needs is away at this moment.',
    message: 'the service is not available at this moment; retry with the same Idempotency-Key',
  },
} as const satisfies Readonly<Record<string, ErrorCode>>;

type Code = keyof typeof ERROR_CODES;

/** The body of every error. */
const FailureSchema = Type.Object(
  {
    code: Type.Integer({ minimum: 400, maximum: 599, description: 'Equal to the HTTP status.' }),
    message: Type.String({ description: 'For people; it names the field where one is at fault.' }),
    data: Type.Null(),
    error_code: Type.String({ description: 'For programs.' }),
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
export const ERROR_SCHEMAS = { Failure: FailureSchema, TextFailure: TextFailureSchema, RpcFailure: RpcFailureSchema };

/** Every code that a route can respond with. @throws {Error} the route names a code that the contract does not have. */
export function errorCodesOf(route: Route): readonly Code[] {
  const codes = new Set<string>(['INVALID_REQUEST', 'INTERNAL_ERROR']);
  if (route.access !== 'none') {
    for (const code of ['UNAUTHORIZED', 'RATE_LIMITED', 'SERVICE_UNAVAILABLE']) codes.add(code);
    if (route.access !== 'operator') codes.add('ACCOUNT_SUSPENDED');
    if (route.access !== 'operator' && route.access !== 'any') codes.add('FORBIDDEN');
  }
  if (route.body !== undefined) codes.add('PAYLOAD_TOO_LARGE').add('UNSUPPORTED_MEDIA_TYPE');
  for (const code of route.errors ?? []) codes.add(code);
  const known = Object.keys(ERROR_CODES).filter((code) => codes.delete(code)) as Code[];
  if (codes.size > 0) throw new Error(`${route.operationId}: no such error code: ${[...codes].join(', ')}`);
  return known;
}

/** What HTTP itself rejects (http/app/server.ts): a long query string is part of what is limited. */
const HEADERS_TOO_LARGE: ErrorCode = {
  status: 431,
  when: 'The address and the headers are larger than 8 kB.',
  message: 'the request headers are larger than 8 kB',
};

/** The error responses of a route, by status. */
export function errorResponses(route: Route, parts: OpenApiParts): OpenApiNode {
  const codes = errorCodesOf(route);
  const statuses = [...new Set(codes.map((code) => ERROR_CODES[code].status))];
  const responses = statuses.map((status): [number, OpenApiNode] => {
    const ofStatus = codes.filter((code) => ERROR_CODES[code].status === status);
    const cases = ofStatus.map((code) => [code, ERROR_CODES[code]] as const);
    const name = ofStatus.map(pascalCase).join('Or');
    return [status, response(name, cases, { parts, form: errorFormOf(route.path) })];
  });
  if (route.query !== undefined) {
    responses.push([
      431,
      response('HeadersTooLarge', [['INVALID_REQUEST', HEADERS_TOO_LARGE]], { parts, form: 'text' }),
    ]);
  }
  return Object.fromEntries(responses);
}

type Case = readonly [code: Code, error: ErrorCode];

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
  text: 'Text',
  models: 'Models',
  'json-rpc': 'Rpc',
};

/** @param cases errors of one status. */
function response(
  name: string,
  cases: readonly Case[],
  { parts, form }: { readonly parts: OpenApiParts; readonly form: ErrorForm },
): OpenApiNode {
  return failureResponse(`${NAME_PREFIXES[form]}${name}`, cases, parts, failureForm(cases, form));
}

function failureForm(cases: readonly Case[], form: ErrorForm): FailureForm {
  if (form === 'json-rpc') return rpcForm(cases);
  const bodies = cases.map(([errorCode, { status, message }]) =>
    form === 'envelope'
      ? failure(status, errorCode, message)
      : errorBody(textProblemOf({ status, errorCode, message }, form)),
  );
  const schema = form === 'envelope' ? FailureSchema : TextFailureSchema;
  return { schema, bodies, codes: bodies.map((body) => body.error_code) };
}

function rpcForm(cases: readonly Case[]): FailureForm {
  const bodies = cases.map(([code, { status, message }]) => rpcFailure({ status, errorCode: code, message }));
  const narrowed = (status: number, codes: readonly string[]): OpenApiNode => ({
    properties: {
      error: {
        type: 'object',
        // Linters assume that there is nothing beside what is named here.
        properties: {
          code: {},
          message: {},
          data: { type: 'object', properties: { status: { const: status }, error_code: { enum: codes } } },
        },
      },
    },
  });
  const codes = bodies.map(({ error }) => error.data.error_code);
  return { schema: RpcFailureSchema, bodies, codes, narrowed };
}

function envelopeNarrowed(status: number, codes: readonly string[]): OpenApiNode {
  return { properties: { code: { const: status }, error_code: { enum: codes } } };
}

function failureResponse(
  name: string,
  cases: readonly Case[],
  parts: OpenApiParts,
  { schema, bodies, codes, narrowed = envelopeNarrowed }: FailureForm,
): OpenApiNode {
  const status = cases[0]?.[1].status ?? 500;
  return parts.addResponse(name, () => ({
    description: cases.map(([, { when }], place) => `\`${codes[place]}\`: ${when}`).join('\n\n'),
    headers: errorHeaders(status, parts),
    content: {
      'application/json': {
        schema: {
          allOf: [parts.schema(schema), { type: 'object', ...narrowed(status, codes) }],
        },
        examples: Object.fromEntries(cases.map(([code], place) => [code, { value: bodies[place] }])),
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
    description: 'Names this request; your own is echoed where it has this form.',
    required: true,
    schema: { type: 'string', pattern: '^[\\w-]{1,64}$' },
  }));
}

function authenticateHeader(parts: OpenApiParts): OpenApiNode {
  return parts.addHeader('WWW-Authenticate', () => ({
    description: 'How to authenticate.',
    required: true,
    schema: { type: 'string', enum: ['Bearer'] },
  }));
}

function retryAfterHeader(parts: OpenApiParts): OpenApiNode {
  return parts.addHeader('Retry-After', () => ({
    description: 'Seconds to wait before the next attempt.',
    required: true,
    schema: { type: 'integer', minimum: 1 },
  }));
}

/** `RATE_LIMITED` as a component's name: `RateLimited`. */
function pascalCase(code: string): string {
  return code.toLowerCase().replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
