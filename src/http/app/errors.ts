/**
 * The only module that turns errors into HTTP (contract §1): what an error is to its client, and the form of its body,
 * by the path. What each kind means is a row of ERROR_KINDS. No response contains a stack, SQL, a host name, a key or a
 * message of a provider.
 */
import type { Violation } from '@darkroom/api/facts/violation';
import { rpcFailure } from '@darkroom/api/mcp/json-rpc';
import type { MessageId } from '@darkroom/api/mcp/json-rpc';
import type { WaitReason } from '@darkroom/api/openai/batches';
import { failure } from '@darkroom/api/tasks/envelope';
import { UnsupportedMediaError } from '@darkroom/media/inspect';
import { PreviewTooSlowError } from '@darkroom/media/preview';
import { DarkroomError } from '../../domain/darkroom-error.ts';
import { factsOf } from '@darkroom/api/facts/error-kinds';
import type { ErrorKind } from '@darkroom/api/facts/error-kinds';
import { openAiCodeOf } from '../../schema/openai-parse.ts';
import type { TextProblem } from '../../text/encoder.ts';
import { errorBody } from '../../text/encoder.ts';

/** An error as a response shows it, in whatever form. */
export interface HttpProblem {
  readonly kind: ErrorKind;
  readonly message: string;
  /** Headers of the response. */
  readonly headers?: Readonly<Record<string, string>>;
  /** For clients of OpenAI's API: the parameter at fault, and its code for the case. */
  readonly param?: string | undefined;
  readonly code?: string | undefined;
  /** What is wrong with the request, where its field is known. */
  readonly violations?: readonly Violation[] | undefined;
}

interface RequestErrorOptions extends Pick<HttpProblem, 'param' | 'code'> {
  /** What `param` violates. */
  readonly keyword?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly retryAfterSeconds?: number;
  readonly cause?: unknown;
}

/** A request that is rejected before it reaches a module, or because it violates HTTP itself. */
export class RequestError extends DarkroomError {
  override readonly name = 'RequestError';
  override readonly kind: ErrorKind;
  override readonly param: string | undefined;
  override readonly keyword: string | undefined;
  override readonly code: string | undefined;
  override readonly retryAfterSeconds: number | undefined;
  readonly headers: Readonly<Record<string, string>>;

  /** @param message for the caller. Default: that of the kind. */
  constructor(kind: ErrorKind, message: string = factsOf(kind).message, options: RequestErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.kind = kind;
    this.param = options.param;
    this.keyword = options.keyword;
    this.code = options.code;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.headers = options.headers ?? {};
  }

  override get publicMessage(): string {
    return this.message;
  }

  /** Renaming the field of an error does not make it final. */
  override get waitsFor(): WaitReason | undefined {
    return this.cause instanceof DarkroomError ? this.cause.waitsFor : super.waitsFor;
  }
}

/** 400 `INVALID_REQUEST`, with a message that names the field. */
export function invalidRequest(
  message: string,
  options?: Pick<RequestErrorOptions, 'param' | 'code' | 'keyword'>,
): RequestError {
  return new RequestError('invalid_request', message, options);
}

/** 400 `INVALID_REQUEST` for a value that violates a rule beyond its schema, with OpenAI's code for that. */
export function invalidValue(field: string, problem: string): RequestError {
  return invalidRequest(`invalid request: ${field}: ${problem}`, { param: field, code: 'invalid_value' });
}

/** 400 `INVALID_REQUEST` for a value that violates its schema, or a rule beyond it. @param code OpenAI's, if any. */
export function violated({ message, field, keyword }: Violation, code?: string): RequestError {
  return invalidRequest(message, { param: field, keyword, code });
}

/** 404: the same body for an unknown path, an unknown task and another account's task. */
export function notFound(options?: Pick<HttpProblem, 'param' | 'code'>): RequestError {
  return new RequestError('not_found', undefined, options);
}

/** @returns the response to any error. What is no error of ours is internal, and so is its message. */
export function problemOf(error: unknown): HttpProblem {
  const mapped = error instanceof DarkroomError ? error : ofPackage(error);
  if (mapped === undefined) return { kind: 'internal', message: factsOf('internal').message };
  const { kind, publicMessage, param, code } = mapped;
  const headers = { ...headersOf(mapped), ...(mapped instanceof RequestError ? mapped.headers : {}) };
  return {
    kind,
    message: publicMessage,
    headers,
    param: param === '' ? undefined : param,
    code,
    violations: violationsOf(mapped),
  };
}

function violationsOf({ kind, publicMessage, param, keyword }: DarkroomError): readonly Violation[] | undefined {
  if (param === undefined || factsOf(kind).status !== 400) return undefined;
  return [{ message: publicMessage, field: param, keyword: keyword ?? 'invalid' }];
}

function headersOf({ kind, retryAfterSeconds }: DarkroomError): Readonly<Record<string, string>> {
  const facts = factsOf(kind);
  if (facts.status === 401) return { 'WWW-Authenticate': 'Bearer' };
  if (facts.retryAfterSeconds === undefined) return {};
  return { 'Retry-After': String(retryAfterSeconds ?? facts.retryAfterSeconds) };
}

/** How long the making of a preview is best left alone after it took too long. */
const RETRY_PREVIEW_SECONDS = 10;

/** Errors of packages, which do not depend on this service. */
function ofPackage(error: unknown): DarkroomError | undefined {
  if (error instanceof UnsupportedMediaError) {
    return new RequestError('unsupported_media_type', unsupportedMedia(error), { cause: error });
  }
  if (error instanceof PreviewTooSlowError) {
    const message = 'the preview could not be made in time; retry after the time in Retry-After';
    return new RequestError('unavailable', message, { retryAfterSeconds: RETRY_PREVIEW_SECONDS, cause: error });
  }
  return undefined;
}

function unsupportedMedia({ mimeType, problem }: UnsupportedMediaError): string {
  if (problem !== undefined) return `the file is not taken: it ${problem}`;
  const got = mimeType === undefined ? '' : ` (it is ${mimeType})`;
  return `the file is no image, video or audio of a type that is taken${got}`;
}

/**
 * The form of errors, by the path of the request alone: so that errors raised before any route is reached, such as for
 * an unknown path below `/v1/responses` (contract §9), have the same form.
 * - `envelope`: our envelope alone (contract §1), with the four fields of spec §7 and no other;
 * - `admin`: with an additional `violations`, for the pages of operators;
 * - `text`: with OpenAI's `error` object in addition, and its `error_code` for an invalid key (spec §4.4.5); also for
 *   OpenAI's media endpoints;
 * - `models`: with that object too, because the same clients list models and have files; `error_code` stays as
 *   everywhere else;
 * - `json-rpc`: for clients of the Model Context Protocol, which read nothing else.
 */
export type ErrorForm = 'envelope' | 'admin' | 'text' | 'models' | 'json-rpc';

/** What follows `/v1/` in the paths of OpenAI's endpoints. */
const OPENAI_PATHS: ReadonlySet<string> = new Set(['chat', 'responses', 'images', 'audio', 'videos']);

/** The same for endpoints that other clients use as well. */
const ALSO_OPENAI_PATHS: ReadonlySet<string> = new Set(['models', 'files', 'uploads', 'batches']);

/** Whether OpenAI's clients use a path. */
export function isOfOpenAi(path: string): boolean {
  return ['text', 'models'].includes(errorFormOf(path));
}

/**
 * @param path of a request or a route. An unusual form (`/v1//chat`, `/v1%2Fchat`) is treated like the path that it
 * resembles.
 */
export function errorFormOf(path: string): ErrorForm {
  const [api, first = ''] = path.split(/(?:\/|%2f)+/i, 3).slice(1);
  if (api === 'mcp') return 'json-rpc';
  if (api === 'admin') return 'admin';
  if (api !== 'v1') return 'envelope';
  if (OPENAI_PATHS.has(first)) return 'text';
  return ALSO_OPENAI_PATHS.has(first) ? 'models' : 'envelope';
}

/** The body of an error. @param messageId of the JSON-RPC message that it answers, once that was read. */
export function problemBody(problem: HttpProblem, form: ErrorForm, messageId: MessageId = null): unknown {
  if (form === 'envelope') return failure(problem.kind, problem.message);
  if (form === 'admin') return failure(problem.kind, problem.message, problem.violations);
  if (form === 'json-rpc') return rpcFailure(problem.kind, problem.message, messageId);
  return errorBody(textProblemOf(problem, form));
}

/**
 * An error in the format of OpenAI's API (contract §9, spec §4.4.5).
 *
 * @param form decides the `error_code` of an invalid key.
 */
export function textProblemOf(
  { kind, message, param, code, violations = [] }: HttpProblem,
  form: Exclude<ErrorForm, 'envelope' | 'admin' | 'json-rpc'> = 'text',
): TextProblem {
  const { status, errorCode, openAiType, openAiCode } = factsOf(kind);
  const [violation] = violations;
  const usesOpenAiCode = kind === 'unauthenticated' && form === 'text' && openAiCode !== null;
  return {
    status,
    errorCode: usesOpenAiCode ? openAiCode : errorCode,
    message,
    type: openAiType,
    code: code ?? openAiCode ?? (violation === undefined ? null : openAiCodeOf(violation)),
    param: param ?? null,
  };
}
