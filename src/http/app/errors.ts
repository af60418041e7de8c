/**
 * The only module that turns errors into HTTP (contract §1); what each kind means is a row of ERROR_KINDS. No response
 * contains a stack, SQL, a host name, a key or a message of a provider.
 */
import { UnsupportedMediaError } from '@darkroom/media/inspect';
import { PreviewTooSlowError } from '@darkroom/media/preview';
import { DarkroomError, factsOf } from '../../domain/darkroom-error.ts';
import type { ErrorKind } from '../../domain/darkroom-error.ts';
import type { Violation } from '@darkroom/api/facts/violation';
import type { WaitReason } from '@darkroom/api/openai/batches';

/** An error as a response shows it, in whatever form (error-form.ts). */
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
