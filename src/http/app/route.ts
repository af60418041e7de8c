/**
 * What a route is: everything about it in one object, from which the router, the validation of requests, the OpenAPI
 * document and the matrix of access rights are generated. A route parses, calls one use case, presents.
 */
import type { TObject, TSchema, Static } from 'typebox';
import type { ParameterizedContext } from 'koa';
import type { Caller } from '../../accounts/authenticate.ts';
import type { ErrorCode } from '@darkroom/api/facts/error-kinds';
import type { Scope } from '@darkroom/api/facts/scopes';
import type { LargeBody } from '../../tasks/record/body-facts.ts';
import type { RequestState } from './context.ts';

export type RouteMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** The groups of the reference, in its order. */
export const ROUTE_TAGS = [
  'Tasks',
  'Text',
  'Images and audio',
  'Videos',
  'Batches',
  'Stored outputs',
  'Files',
  'Models',
  'Account',
  'Keys',
  'Webhooks',
  'Dashboard',
  'Media',
  'Service',
  'Administration',
] as const;

/** The content of a response without the envelope, of a route whose response has it in its other form. */
export class WithoutEnvelope {
  readonly content: unknown;

  constructor(content: unknown) {
    this.content = content;
  }
}

/** The response with status 200. `data` is put into the envelope, `json` is not; the others are described in words. */
export type RouteResponse =
  | { readonly kind: 'data'; readonly schema: TSchema; readonly example?: unknown }
  | { readonly kind: 'json'; readonly schema: TSchema; readonly example?: unknown }
  | { readonly kind: 'other'; readonly mimeTypes: readonly string[]; readonly description: string };

/** An additional response: `schema` where it is JSON, `mimeTypes` where it is not, neither where it has no body. */
export interface OtherResponse {
  readonly description: string;
  readonly schema?: TSchema;
  readonly mimeTypes?: readonly string[];
}

/** How a request's body is read. */
export type RouteBody =
  | {
      readonly kind: 'json';
      readonly schema: TSchema;
      /** Default: 256 kB (contract §1). */
      readonly maxBytes?: number;
      /** Whether the body may be left out: it then is `{}`. */
      readonly isOptional?: boolean;
      /** The use case checks the schema itself, because something comes first (the Idempotency-Key of a create). */
      readonly isCheckedLater?: boolean;
      /** Whether the use case needs the facts about the body from tasks/record/body-facts.ts. */
      readonly needsFacts?: boolean;
      readonly examples?: Readonly<Record<string, { readonly summary: string; readonly value: unknown }>>;
    }
  /** The handler reads it: uploads. */
  | {
      readonly kind: 'raw';
      readonly mimeTypes: readonly string[];
      readonly description: string;
      /** The fields of a form, if the body is one; absent: its only field is a file. */
      readonly form?: TSchema;
      /** The same request as JSON, where the handler takes that too. */
      readonly json?: { readonly schema: TSchema; readonly example: unknown };
    };

/** What a handler receives: parsed and validated. */
export interface RouteRequest<Query, Body> {
  readonly ctx: ParameterizedContext<RequestState>;
  /** Only where the route needs a key. */
  readonly caller: Caller;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  /** Values of query parameters whose names begin with `queryPrefix`, by the rest of their names. */
  readonly prefixed: Readonly<Record<string, string>>;
  readonly body: Body;
  /** Only where the body is so large that it is processed in turns. */
  readonly large?: LargeBody;
}

/** A body whose schema the use case checks has been parsed, and is known to be an object. */
type BodyOf<Body extends TSchema, IsCheckedLater extends boolean> = IsCheckedLater extends true
  ? Readonly<Record<string, unknown>>
  : Static<Body>;

export interface RouteSpec<Query extends TObject, Body extends TSchema, IsCheckedLater extends boolean = boolean> {
  readonly method: RouteMethod;
  /** In the format of OpenAPI: `/v1/tasks/{taskId}`. `{modelName...}` takes slashes too. */
  readonly path: string;
  readonly operationId: string;
  readonly tag: (typeof ROUTE_TAGS)[number];
  readonly summary: string;
  readonly description?: string;
  /** The scope a key needs, `any` for every key, `none` for no key, `operator` on the admin listener. */
  readonly access: Scope | 'any' | 'none' | 'operator';
  /** Whether the operation changes stored data. Default: true unless the method is GET. */
  readonly changesState?: boolean;
  /**
   * The budget of the account from which a request takes a token; default `read`. `deferred`: the handler takes it,
   * from `create`.
   */
  readonly budget?: 'create' | 'read' | 'text' | 'deferred';
  /** Whether its statements may take long, as lists and sums do: each account has a share of the concurrent ones. */
  readonly isExpensive?: true;
  /** One line for each `{parameter}` of the path. */
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Query;
  /** `metadata.`: further query parameters, of any name that begins with this prefix. */
  readonly queryPrefix?: string;
  /** Request headers that this route uses, with a line for each. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: RouteBody & { readonly schema?: Body; readonly isCheckedLater?: IsCheckedLater };
  readonly response: RouteResponse;
  /** Response headers that this route sets, with a line for each. */
  readonly responseHeaders?: Readonly<Record<string, string>>;
  /** Other responses that are not errors of the envelope, by status; under 200: another form of the same response. */
  readonly otherResponses?: Readonly<Record<number, OtherResponse>>;
  /** Error codes in addition to those that every route of its kind can return. */
  readonly errors?: readonly ErrorCode[];
  /** @returns the content of the response; undefined where the handler has responded by itself. */
  handle(request: RouteRequest<Static<Query>, BodyOf<Body, IsCheckedLater>>): Promise<unknown>;
}

/** A route, whatever its query and body are. */
export type Route = RouteSpec<TObject, TSchema> & { readonly changesState: boolean };

/** Types a route by its own schemas. */
export function defineRoute<
  Query extends TObject = TObject,
  Body extends TSchema = TSchema,
  IsCheckedLater extends boolean = false,
>(spec: RouteSpec<Query, Body, IsCheckedLater>): Route {
  return { ...spec, changesState: spec.changesState ?? spec.method !== 'GET' };
}
