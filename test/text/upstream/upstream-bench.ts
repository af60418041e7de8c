/** What the tests of upstreams need: calls, a router with its dependencies, and functions to read an answer. */
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { TEXT_FEATURES } from '@darkroom/api/facts/text-features';
import type { TextModelDefinition, TextUpstream } from '../../../src/catalogue/text-definition.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { checkChatBody, decodeChatRequest } from '../../../src/text/chat/decode-request.ts';
import type { TextEvent, OpenedAnswer, TextCall, TextSource } from '../../../src/text/source.ts';
import { checkResponsesBody, decodeResponsesRequest } from '../../../src/text/responses/decode-request.ts';
import { selfContainedBody } from '../../../src/text/responses/conversation.ts';
import { Tally } from '../../../src/text/tally.ts';
import { loadTokenizer } from '../../../src/text/tokens.ts';
import { createTextRouter } from '../../../src/text/upstream/text-router.ts';
import type { TextRouter } from '../../../src/text/upstream/text-router.ts';
import type { GatedUpstream, Health } from '../../../src/upstreams/gate.ts';
import { HEALTHY } from '../../../src/upstreams/states.ts';
import type { UpstreamState } from '../../../src/upstreams/states.ts';
import { createSecretSource } from '../../../src/upstreams/secrets.ts';
import type { Json } from './scripted-answers.ts';

export const MODEL_NAME = 'darkroom/test-text';
export const SECRET = 'sk-very-secret-value';

export function textModel(
  upstreams: readonly TextUpstream[],
  changes: Partial<TextModelDefinition> = {},
): TextModelDefinition {
  return {
    name: MODEL_NAME,
    modality: 'text',
    ownedBy: 'tests',
    created: 1,
    description: 'For tests.',
    upstreams: [...upstreams],
    contextTokens: 100_000,
    maxOutputTokens: 1_000,
    features: [...TEXT_FEATURES],
    pricing: { unit: 'token', inputUsd: '1', outputUsd: '2' },
    ...changes,
  };
}

export function openaiUpstream(baseUrl: string, changes: Partial<TextUpstream> = {}): TextUpstream {
  return { protocol: 'openai', baseUrl, model: 'vendor-x/secret-model-9b', ...changes };
}

/** The input is counted at 5 tokens, whatever it is. */
const INPUT_TOKENS = 5;

/** A call as the chat endpoint makes it. */
export async function chatCall(model: TextModelDefinition, changes: Json = {}): Promise<TextCall> {
  await loadTokenizer();
  const body = checkChatBody({ model: model.name, messages: [{ role: 'user', content: 'Hello?' }], ...changes });
  return {
    id: 'chatcmpl-ours-1',
    surface: 'chat',
    model,
    request: decodeChatRequest(body, model),
    body,
    isStreamed: body.stream === true,
    tally: new Tally(INPUT_TOKENS),
    createdAt: 1_700_000_000,
    accountId: 'acc_test',
  };
}

/** A call as the responses endpoint makes it. */
export async function responsesCall(model: TextModelDefinition, changes: Json = {}): Promise<TextCall> {
  await loadTokenizer();
  const body = checkResponsesBody({ model: model.name, input: 'Hello?', ...changes });
  const decoded = decodeResponsesRequest(body, model, { conversation: [], referenced: new Map() });
  return {
    id: 'resp_ours_1',
    surface: 'responses',
    model,
    request: decoded.request,
    body: selfContainedBody(body, decoded, decoded.items),
    isStreamed: body.stream === true,
    tally: new Tally(INPUT_TOKENS),
    createdAt: 1_700_000_000,
    accountId: 'acc_test',
    echo: decoded.rendering.echo,
  };
}

/** A gate that records what is reported to it, and returns what a test sets. */
export interface NotingGate {
  readonly reports: { readonly name: string; readonly health: Health }[];
  readonly asked: string[];
  /** The pauses that other processes have recorded. */
  readonly paused: Map<string, number>;
  readonly drained: Set<string>;
  report(upstream: GatedUpstream, health: Health): Promise<void>;
  stateOf(upstream: GatedUpstream): Promise<UpstreamState>;
}

function notingGate(): NotingGate {
  const gate: NotingGate = {
    reports: [],
    asked: [],
    paused: new Map(),
    drained: new Set(),
    report: ({ name }, health) => {
      gate.reports.push({ name, health });
      return Promise.resolve();
    },
    stateOf: ({ name }) => {
      gate.asked.push(name);
      return Promise.resolve({
        ...HEALTHY,
        pausedMs: gate.paused.get(name) ?? 0,
        isDrained: gate.drained.has(name),
      });
    },
  };
  return gate;
}

export interface Bench {
  readonly router: TextRouter;
  readonly gate: NotingGate;
  /** Lines of the log. */
  readonly log: Json[];
  /** The router's clock. */
  readonly clock: { nowMs: number };
}

const NO_EMBEDDED: TextSource = { open: () => Promise.reject(new Error('there is no embedded model here')) };

export function openBench(
  secrets: Readonly<Record<string, string>> = { vendor: SECRET },
  embedded: TextSource = NO_EMBEDDED,
): Bench {
  const gate = notingGate();
  const log: Json[] = [];
  const clock = { nowMs: 1_000_000 };
  const sink = new Writable({
    write(line: Buffer, _encoding, done) {
      log.push(JSON.parse(line.toString()) as Json);
      done();
    },
  });
  const router = createTextRouter({
    embedded,
    secrets: createSecretSource(secrets),
    gate,
    metrics: createMetrics().outgoing,
    logger: pino({ level: 'trace' }, sink),
    now: () => clock.nowMs,
    steadyClock: () => clock.nowMs,
  });
  return { router, gate, log, clock };
}

const NEVER = new AbortController().signal;

/** Opens a call that the client does not give up. */
export function open(source: TextSource, call: TextCall, signal: AbortSignal = NEVER): Promise<OpenedAnswer> {
  return source.open(call, signal);
}

/** The frames of a stream, read until it ends. */
export async function framesOf(source: TextSource, call: TextCall): Promise<string[]> {
  const opened = await open(source, call);
  if (opened.kind !== 'frames') throw new Error(`opened as ${opened.kind}`);
  return collect(opened.frames);
}

export async function eventsOf(source: TextSource, call: TextCall): Promise<TextEvent[]> {
  const opened = await open(source, call);
  if (opened.kind !== 'events') throw new Error(`opened as ${opened.kind}`);
  return collect(opened.events);
}

export async function bodyOf(source: TextSource, call: TextCall): Promise<Json> {
  const opened = await open(source, call);
  if (opened.kind !== 'body') throw new Error(`opened as ${opened.kind}`);
  return opened.body;
}

export async function collect<T>(pieces: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const piece of pieces) all.push(piece);
  return all;
}

/** The data of a frame. It has to be one event, on one line of data. */
export function dataOf(frame: string): Json {
  const [, data] = /^(?:event: [\w.]+\n)?data: ([^\n\r]*)\n\n$/.exec(frame) ?? [];
  if (data === undefined) throw new Error(`no frame: ${JSON.stringify(frame)}`);
  return JSON.parse(data) as Json;
}

/** The outcome of a call that fails: the error, at its opening or in the middle of its pieces. */
export async function failureOf(work: Promise<unknown>): Promise<unknown> {
  try {
    await work;
  } catch (error) {
    return error;
  }
  throw new Error('it did not fail');
}

/** The first choice of a chunk. */
export function choiceOf(chunk: Json | undefined): Json {
  const [choice] = (chunk?.['choices'] ?? []) as Json[];
  return choice ?? {};
}

/** The total content of chunks in a field of their deltas. */
export function saidIn(chunks: readonly Json[], field = 'content'): string {
  return chunks
    .flatMap((chunk) => chunk['choices'] as { delta: Json }[])
    .map(({ delta }) => (typeof delta[field] === 'string' ? delta[field] : ''))
    .join('');
}
