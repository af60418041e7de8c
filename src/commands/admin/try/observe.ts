/**
 * What a provider does on the workbench: its exchanges are shown, and made, recorded, or answered from a recording;
 * its expressions are shown under the members of the file, and compared with what their positions need.
 */
import { findUnmetExpectation } from '../../../providers/http/expected-values.ts';
import { isSuccess } from '../../../providers/answer-status.ts';
import type { HttpBinding } from '../../../providers/http/binding.ts';
import type { HostScope } from '../../../providers/http/hosts.ts';
import { reasonOf } from '../../../providers/http/values.ts';
import { listAt, textAt, valueAt } from '../../../providers/json-answer.ts';
import { ExchangeLost, createHttpExchange, readAnswer } from '../../../providers/http-exchange.ts';
import type { ExchangeAnswer, ExchangeRequest, HttpExchange, RawAnswer } from '../../../providers/http-exchange.ts';
import { discardBody } from '../../../providers/request-body.ts';
import type { RequestBody } from '../../../providers/request-body.ts';
import type { EvaluatedExpression, Workbench } from '../../../providers/workbench.ts';
import type { CredentialMask } from './credential.ts';
import type { Playback, RecordedExchange, RecordedResponse, Recorder } from './recording.ts';
import type { RequestStep, ResponseStep, RunLog } from './run-log.ts';

/** Where responses come from: nowhere, the provider, or a recording. */
export type Source = 'nowhere' | 'provider' | Playback;

export interface Observed {
  readonly workbench: Workbench;
  /** Why no more responses come: the one request was shown, or the recording is over. */
  readonly hasEnded: boolean;
  /** The expressions that were evaluated, by their positions in the binding. */
  readonly evaluated: ReadonlySet<string>;
}

interface Setup {
  readonly source: Source;
  readonly log: RunLog;
  readonly mask: CredentialMask;
  readonly recorder: Recorder | undefined;
  /** The position of the upstream in the file: `routes.default.upstreams.0`. */
  readonly position: string;
  /** Undefined: it has another protocol. */
  readonly http: HttpBinding | undefined;
  readonly scope: HostScope;
}

/** The headers of a response that are worth showing. */
const SHOWN_HEADERS: readonly string[] = [
  'content-type',
  'content-length',
  'location',
  'retry-after',
  'retry-after-ms',
  'request-id',
  'x-request-id',
];
const SHOWN_PREFIXES: readonly string[] = ['ratelimit-', 'x-ratelimit-'];

/** Expressions that are parts of a request, and shown there. */
const PART_OF_REQUEST = /(^|\.)(path|url|body|headers\.[^.]+|form\.\d+\.(value|fields))$/;

const FAULTS: Readonly<Record<string, string>> = {
  NOT_JSON: 'is not JSON',
  BODY_TOO_LARGE: 'is larger than a worker reads',
  JSON_TOO_LARGE: 'has more values than a worker reads',
  TIMEOUT: 'did not end in time',
  ABORTED: 'was given up',
};

export function observe({ source, log, mask, recorder, position, http, scope }: Setup): Observed {
  const send = createHttpExchange();
  const evaluated = new Set<string>();
  /** Those of the next request. */
  let parts = new Map<string, unknown>();
  let hasEnded = false;
  /** Whether the last response took no work: by its status, or by what the file reads in it. */
  let isRefused = false;

  const show = (request: ExchangeRequest): RequestStep => {
    const step = requestStep(request, mask, membersOf(request, parts, { position, http }));
    parts = new Map();
    log.add(step);
    return step;
  };
  const respond = (response: RecordedResponse): void => {
    log.add(responseStep(response));
  };
  const end = (text: string): ExchangeLost => {
    hasEnded = true;
    log.add({ step: 'note', text });
    return new ExchangeLost(false, 'ABORTED');
  };

  const fromProvider = async (request: ExchangeRequest, shown: RequestStep): Promise<ExchangeAnswer> => {
    const recorded = { request: { method: shown.method, url: shown.url, body: shown.body } };
    let raw: RawAnswer | undefined;
    try {
      const answer = await send({ ...request, onAnswer: (arrived) => (raw = arrived) });
      if (raw !== undefined) {
        const response = recordedResponse(raw, answer, mask);
        recorder?.add({ ...recorded, response });
        respond(response);
      }
      return answer;
    } catch (error) {
      if (error instanceof ExchangeLost) {
        recorder?.add({ ...recorded, lost: error.code });
        log.add({ step: 'note', text: `no response (${error.code})` });
      }
      throw error;
    }
  };

  const calls: HttpExchange = async (request) => {
    const shown = show(request);
    if (source === 'provider') return fromProvider(request, shown);
    discardBody(request.content);
    if (source === 'nowhere') throw end('Nothing was sent. With --send it is; --recording answers from a file.');
    const exchange = source.take(shown.method, shown.url);
    if (exchange === undefined) {
      throw end(`The recording has no response to this request. ${source.describeRest()}`);
    }
    return playedAnswer(exchange, request, respond);
  };

  const observedCalls: HttpExchange = async (request) => {
    const answer = await calls(request);
    isRefused = !isSuccess(answer.status);
    return answer;
  };

  const tokens: HttpExchange = async (request) => {
    const host = request.url.host;
    if (source !== 'provider') {
      log.add({ step: 'note', text: `A token would be obtained from ${host} first.` });
      const body = Buffer.from(JSON.stringify({ access_token: 'token' }), 'utf8');
      return readAnswer({ status: 200, headers: {}, body });
    }
    const answer = await send(request);
    log.add({ step: 'note', text: `${host} answered the request for a token with ${answer.status}` });
    return answer;
  };

  const onExpression = ({ member, document, value, error }: EvaluatedExpression): void => {
    evaluated.add(member);
    const inFile = `${position}.http.${member}`;
    const isPart = PART_OF_REQUEST.test(member);
    if (error !== undefined) {
      const at = error.position === undefined ? '' : ` at character ${error.position}`;
      const problem = mask.text(`${error.code}${at}: ${error.message ?? 'it gave no value'}; ${describe(document)}`);
      return log.add({ step: 'problem', member: inFile, problem });
    }
    const shown = mask.json(value);
    // The first of a request; those of an earlier one that was never made do not belong to it.
    if (isAddress(member)) parts = new Map();
    if (isPart && value !== undefined) parts.set(member, value);
    if (!isPart) log.add({ step: 'value', member: inFile, value: shown });
    if (member === 'submit.refusal' && reasonOf(value) !== undefined) isRefused = true;
    // Nothing was accepted, so that there is neither.
    if (isRefused && (member === 'jobId' || member === 'outputs')) return;
    const expected = findUnmetExpectation(member, value, scope);
    if (expected === undefined) return;
    const name = member.slice(member.lastIndexOf('.') + 1);
    const given = value === undefined ? 'nothing' : quoted(shown);
    log.add({ step: 'problem', member: inFile, problem: `${name} gave ${given}; expected ${expected}` });
  };

  return {
    workbench: { calls: observedCalls, tokens, onExpression },
    get hasEnded() {
      return hasEnded;
    },
    evaluated,
  };
}

/** What an expression was evaluated over: the names of its members, and no values. */
function describe(document: unknown): string {
  if (document === undefined) return 'it has no document';
  if (Array.isArray(document)) return `its document is a list of ${document.length}`;
  if (typeof document !== 'object' || document === null)
    return `its document is ${document === null ? 'null' : `a ${typeof document}`}`;
  const names = Object.keys(document);
  return names.length === 0 ? 'its document is an empty object' : `its document has ${names.slice(0, 50).join(', ')}`;
}

const MAX_QUOTED = 200;

function quoted(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}...` : text;
}

function requestStep(
  { method, url, headers, content }: ExchangeRequest,
  mask: CredentialMask,
  members: Readonly<Record<string, string>>,
): RequestStep {
  return {
    step: 'request',
    method,
    // First, because what they reveal is masked in the rest.
    headers: mask.headers({ ...headers, ...(content === undefined ? {} : { 'content-type': content.contentType }) }),
    url: mask.url(url),
    ...(content === undefined ? {} : bodyOf(content, mask)),
    members,
  };
}

function bodyOf(content: RequestBody, mask: CredentialMask): Pick<RequestStep, 'body' | 'form' | 'bytes'> {
  const described = content.describe?.();
  if (described !== undefined && 'form' in described) {
    return { form: described.form.map((part) => ('text' in part ? { ...part, text: mask.text(part.text) } : part)) };
  }
  if (described !== undefined) return { body: mask.json(JSON.parse(described.json)) };
  const { body, contentType: mimeType, byteLength } = content;
  if (!Buffer.isBuffer(body) || mimeType !== 'application/json') return { bytes: { mimeType, byteLength } };
  return { body: mask.json(JSON.parse(body.toString('utf8'))) };
}

/** Which members of the file the parts of a request come from. @param parts the values of its expressions. */
function membersOf(
  { headers, content }: ExchangeRequest,
  parts: ReadonlyMap<string, unknown>,
  { position, http }: Pick<Setup, 'position' | 'http'>,
): Readonly<Record<string, string>> {
  const members: Record<string, string> = {};
  const fixed = new Set(Object.keys(http?.headers ?? {}).map((name) => name.toLowerCase()));
  for (const name of Object.keys(headers).map((each) => each.toLowerCase())) {
    if (fixed.has(name)) members[`headers.${name}`] = `${position}.http.headers`;
    if (name === 'authorization' || name === http?.auth?.name?.toLowerCase()) {
      members[`headers.${name}`] = `${position}.${http?.auth === undefined ? 'secret' : 'http.auth'}`;
    }
  }
  for (const member of parts.keys()) {
    const [, header] = /\.headers\.([^.]+)$/.exec(member) ?? [];
    if (header !== undefined) members[`headers.${header.toLowerCase()}`] = `${position}.http.${member}`;
    if (member.endsWith('.body')) members['body'] = `${position}.http.${member}`;
    if (isAddress(member)) members['url'] = `${position}.http.${member}`;
  }
  const described = content?.describe?.();
  if (described !== undefined && 'form' in described) {
    const within = [...parts.keys()].find(isAddress)?.replace(/\.[^.]+$/, '') ?? '';
    described.form.forEach(({ name }, index) => {
      const member = findPart(name, within, parts, http);
      if (member !== undefined) members[`form.${index}`] = `${position}.http.${member}`;
    });
  }
  return members;
}

function isAddress(member: string): boolean {
  return /\.(path|url)$/.test(member);
}

/** The member of a form that gives a part of this name. */
function findPart(
  name: string,
  within: string,
  parts: ReadonlyMap<string, unknown>,
  http: HttpBinding | undefined,
): string | undefined {
  const form = listAt(http, ...within.split('.'), 'form');
  const index = form.findIndex((part, at) =>
    valueAt(part, 'fields') === undefined
      ? textAt(part, 'name') === name
      : valueAt(parts.get(`${within}.form.${at}.fields`), name) !== undefined,
  );
  const kind = ['value', 'fields', 'media', 'isFile'].find((each) => valueAt(form[index], each) !== undefined);
  return kind === undefined ? undefined : `${within}.form.${index}.${kind}`;
}

/** Those that the rest of a recorded response shows. */
const SHOWN_FAULTS: readonly string[] = ['NOT_JSON', 'EMPTY', 'REDIRECTED'];

function recordedResponse(raw: RawAnswer, answer: ExchangeAnswer, mask: CredentialMask): RecordedResponse {
  const { status, json, file, bodyFault } = answer;
  const headers = Object.entries(raw.headers).flatMap(([name, value]) =>
    value !== undefined && isShown(name) ? [[name, mask.text(String(value))] as const] : [],
  );
  return {
    status,
    headers: Object.fromEntries(headers),
    ...(file === undefined ? {} : { fileBytes: file.byteLength }),
    ...(json === undefined ? {} : { body: mask.json(json) }),
    ...(json !== undefined || raw.body.length === 0 ? {} : { text: mask.text(raw.body.toString('utf8')) }),
    ...(bodyFault === undefined || SHOWN_FAULTS.includes(bodyFault) ? {} : { fault: bodyFault }),
  };
}

function isShown(header: string): boolean {
  return SHOWN_HEADERS.includes(header) || SHOWN_PREFIXES.some((prefix) => header.startsWith(prefix));
}

function responseStep({ status, headers = {}, body, text, fileBytes, fault }: RecordedResponse): ResponseStep {
  const wrong = fault ?? (body === undefined && fileBytes === undefined && text !== undefined ? 'NOT_JSON' : undefined);
  return {
    step: 'response',
    status,
    headers,
    ...(body === undefined ? {} : { body }),
    ...(text === undefined ? {} : { text }),
    ...(fileBytes === undefined ? {} : { fileBytes }),
    ...(wrong === undefined ? {} : { problem: FAULTS[wrong] ?? `broke off (${wrong})` }),
  };
}

/** What a worker makes of a recorded response. */
function playedAnswer(
  { response, lost }: RecordedExchange,
  { fileTo }: ExchangeRequest,
  respond: (response: RecordedResponse) => void,
): ExchangeAnswer {
  if (response === undefined) throw new ExchangeLost(true, lost ?? 'NO_STATUS');
  const { status, headers = {}, body, text = '', fileBytes, fault } = response;
  respond(response);
  if (fileBytes !== undefined && fileTo !== undefined) {
    return {
      status,
      retryAfterMs: undefined,
      json: undefined,
      byteLength: 0,
      file: { path: fileTo, byteLength: fileBytes },
    };
  }
  const bytes = Buffer.from(body === undefined ? text : JSON.stringify(body), 'utf8');
  return readAnswer({ status, headers: lowerCased(headers), body: bytes }, fault);
}

function lowerCased(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
