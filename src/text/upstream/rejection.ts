/**
 * What an unsuccessful status means, and to whom it is reported. The message of an upstream stays here: it names its
 * model, its URL, its operator's account.
 *
 * - 401, 402, 403: the upstream rejects us; that is for the operator to resolve, and another upstream may answer;
 * - 408, 409, 425, 429, 5xx: it cannot answer now;
 * - any other 4xx (400, 404, 413, 422): it rejects this request, and no other upstream is tried;
 * - 3xx: redirects are not followed: a credential is for the URL that the operator wrote.
 */
import { isRecord } from '../../domain/json.ts';
import { parseRetryAfterMs } from '../../domain/waits.ts';
import type { AnswerHeaders } from '../../upstreams/exchange.ts';
import { CHAT_PARAMETERS, RESPONSES_PARAMETERS } from '../features.ts';
import type { ParameterNames } from '../features.ts';
import type { TextCall, TextSurface } from '../source.ts';
import { InvalidTextRequest } from '../text-failure.ts';
import { codeOf } from './read-answer.ts';
import type { Members } from './read-answer.ts';
import { UpstreamFailure } from './upstream-failure.ts';

/** 10 min: the longest pause that an upstream can require, as in providers/answer-status.ts. */
const MAX_PAUSE_MS = 600_000;

export interface RejectedAnswer {
  readonly status: number;
  readonly headers: AnswerHeaders;
  /** The body, as far as it was read. */
  readonly text: string;
}

/** @param interfaceUsed the upstream's, which need not be the client's. */
export function toFailure(
  { status, headers, text }: RejectedAnswer,
  call: TextCall,
  interfaceUsed: TextSurface,
): UpstreamFailure | InvalidTextRequest {
  const error = errorIn(text);
  const facts = { status, code: error === undefined ? undefined : codeOf(error) };
  const pauseMs = pauseOf(headers);
  const message = `the upstream answered ${status}`;
  if (status === 429) return new UpstreamFailure('upstream_rate_limited', message, { ...facts, pauseMs });
  if (status === 408)
    return new UpstreamFailure('upstream_timeout', message, { ...facts, isTransient: true, mayRecur: true });
  if (status >= 500 || status === 409 || status === 425) {
    // If it states a retry time, an immediate retry is pointless.
    return new UpstreamFailure('upstream_unavailable', message, {
      ...facts,
      pauseMs,
      isTransient: pauseMs === undefined,
      mayRecur: true,
    });
  }
  if (status < 400 || status === 401 || status === 402 || status === 403) {
    // Some upstreams return 403 for moderated content.
    return new UpstreamFailure('upstream_unavailable', message, { ...facts, mayRecur: status === 403 });
  }
  const invalid = error === undefined ? undefined : invalidParameter(error, call, interfaceUsed);
  return invalid ?? new UpstreamFailure('upstream_refused', message, { ...facts, isFinal: true });
}

function pauseOf(headers: AnswerHeaders): number | undefined {
  const exact = headers['retry-after-ms'];
  if (typeof exact === 'string' && /^\d{1,12}$/.test(exact)) return Math.min(Number(exact), MAX_PAUSE_MS);
  return parseRetryAfterMs(headers['retry-after'], Date.now(), MAX_PAUSE_MS);
}

/** OpenAI's form of an error, and the one without the wrapper that some servers have. */
function errorIn(text: string): Members | undefined {
  try {
    const json = JSON.parse(text) as unknown;
    if (!isRecord(json)) return undefined;
    return isRecord(json['error']) ? json['error'] : json;
  } catch {
    return undefined;
  }
}

const TOO_LONG = 'context_length_exceeded';
/** vLLM, llama.cpp and others have a sentence or a type of their own for it. It is read, and not passed on. */
const TOO_LONG_WORDS =
  /maximum context length|context[ _](?:length|size|window)|exceed_context_size|prompt is too long|too many tokens/i;

/** OpenAI's codes for what is wrong with a parameter; any other code of an upstream becomes the usual one. */
const CODES: ReadonlySet<string> = new Set([
  'invalid_type',
  'invalid_value',
  'unsupported_value',
  'unsupported_parameter',
  'unknown_parameter',
  'missing_required_parameter',
  'integer_above_max_value',
  'integer_below_min_value',
  'decimal_above_max_value',
  'decimal_below_min_value',
  'array_above_max_length',
  'array_below_min_length',
  'empty_array',
  'string_above_max_length',
  'string_below_min_length',
  'empty_string',
  'invalid_function_parameters',
  'invalid_json_schema',
  'invalid_image_url',
  'invalid_image_format',
  'image_too_large',
  'image_parse_error',
]);

function invalidParameter(error: Members, call: TextCall, interfaceUsed: TextSurface): InvalidTextRequest | undefined {
  const names = call.surface === 'chat' ? CHAT_PARAMETERS : RESPONSES_PARAMETERS;
  const { code, param, type } = error;
  if (code === TOO_LONG || TOO_LONG_WORDS.test(`${String(type)} ${String(error['message'])}`)) {
    const message = `${names.conversation}: longer than the context of ${call.model.name}, answer included`;
    return new InvalidTextRequest(names.conversation, message, TOO_LONG);
  }
  const named = typeof param === 'string' ? clientsParameter(param, call, interfaceUsed, names) : undefined;
  if (named === undefined) return undefined;
  const known = typeof code === 'string' && CODES.has(code) ? code : 'invalid_value';
  return new InvalidTextRequest(named, `${named}: not a value that ${call.model.name} takes`, known);
}

/** The parameters of the chat request that we send, by their names in the client's request for a response. */
const OF_RESPONSES: Readonly<Record<string, keyof ParameterNames>> = {
  messages: 'conversation',
  response_format: 'format',
  reasoning_effort: 'reasoning',
  logprobs: 'logprobs',
  verbosity: 'verbosity',
};
const CAPS = ['max_tokens', 'max_completion_tokens', 'max_output_tokens'];

/**
 * The client's own name for a parameter that an upstream rejects; undefined if the client has not sent it: then it is
 * the operator's, or ours.
 */
function clientsParameter(
  param: string,
  { body, surface, request }: TextCall,
  interfaceUsed: TextSurface,
  names: ParameterNames,
): string | undefined {
  // `messages[0].content` is `messages.0.content` here.
  const dotted = param.replaceAll(/\[['"]?([\w-]+)['"]?\]/g, '.$1');
  if (!/^[a-z][\w.-]{0,199}$/i.test(dotted)) return undefined;
  const root = dotted.split('.')[0] ?? '';
  if (CAPS.includes(root)) {
    if (request.maxOutputTokens === undefined) return undefined;
    return CAPS.find((name) => body[name] != null) ?? names.cap;
  }
  if (root === 'model') return undefined;
  if (surface === interfaceUsed) {
    if (body[root] != null) return dotted;
    return root === 'reasoning_effort' && body['reasoning'] != null ? 'reasoning' : undefined;
  }
  const translated = OF_RESPONSES[root];
  const name = translated === undefined ? root : names[translated];
  return body[name.split('.')[0] ?? ''] == null ? undefined : name;
}
