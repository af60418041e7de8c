/**
 * The offline text model: a source of answers that needs nothing beyond this process. It is a conformance model and
 * not a language model: it answers from the prompt by simple rules, deterministically, and honours what its catalogue
 * file says that it honours. Its answers are planned in a thread, within a time limit, because prompts and schemas are
 * untrusted (threads/text-threads.ts); here they are only emitted, token by token.
 */
import { createHash } from 'node:crypto';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import type { AnswerPlan } from '@darkroom/offline-text/answer-plan';
import { SchemaTooComplexError } from '@darkroom/offline-text/schema-reader';
import { logprobOf } from '@darkroom/offline-text/logprobs';
import { TokenBudget, loadVocabulary, piecesOf, tokensOf } from '@darkroom/offline-text/tokens';
import { LRUCache } from 'lru-cache';
import type { TextModelDefinition } from '../catalogue/text-definition.ts';
import { digestsOf } from './digests.ts';
import { CHAT_PARAMETERS, RESPONSES_PARAMETERS } from './features.ts';
import type { TextRequest } from './request.ts';
import type { FinishReason, TextCall, TextEvent, TextSource, TokenUsage } from './source.ts';
import { InvalidTextRequest, TextFailure } from './text-failure.ts';
import type { TextThreads } from './threads/text-threads.ts';
import { loadTokenizer } from './tokens.ts';
import type { CountedRequest } from './tokens.ts';

/**
 * The maximum number of tokens of one call, over all its choices. This model shares its process with everything else.
 */
const MOST_TOKENS = 32_768;
/**
 * The maximum number of reported log probabilities of one call, including alternatives; each takes some 200 B of
 * memory.
 */
const MOST_LOGPROBS = 100_000;
/** Below this, only the most probable word is drawn. */
const GREEDY_TOP_P = 0.01;
/** The number of pieces after which other work gets its turn: some 0.2 ms of work. */
const PIECES_PER_TURN = 16;
/** The maximum number of beginnings of prompts in memory, some 200 bytes each. */
const MAX_REMEMBERED = 20_000;

/** One answer that is about to be emitted. */
interface Choice {
  readonly index: number;
  readonly plan: AnswerPlan;
  /** The source of its randomness. */
  readonly seed: string;
  readonly budget: TokenBudget;
}

/** Answers every call with events; a source remembers the prompts that it received, to report them as cached. */
export function createEmbeddedTextSource(threads: Pick<TextThreads, 'countInput' | 'plan'>): TextSource {
  const memory = new PromptMemory(threads);
  return {
    async open(call, signal) {
      await Promise.all([loadVocabulary(), loadTokenizer()]);
      const { request, model, accountId } = call;
      const prompt = await memory.read(accountId, model.name, request);
      const cap = capOf(call, prompt);
      const seeds = Array.from(
        { length: request.choices },
        (_, index) => `${prompt.digest}/${variationOf(call, index)}`,
      );
      await call.nextTurn?.();
      const plans = await threads
        .plan(accountId, { request, maxTokens: cap, seeds }, signal)
        .catch((error: unknown) => {
          throw error instanceof SchemaTooComplexError ? tooComplex(call) : error;
        });
      const choices = plans.map((plan, index): Choice => {
        return { index, plan, seed: seeds[index] ?? '', budget: new TokenBudget(cap) };
      });
      return { kind: 'events', events: streamAnswer(call, choices, prompt, new Pace(model, signal)) };
    },
  };
}

/**
 * The schemas of the request itself were validated before (parameters.ts): what is too complex is their further
 * expansion, or a schema in the prompt.
 */
function tooComplex({ surface, request: { format, tools } }: TextCall): InvalidTextRequest {
  const names = surface === 'chat' ? CHAT_PARAMETERS : RESPONSES_PARAMETERS;
  const param = format.type === 'json_schema' ? names.format : tools.length > 0 ? 'tools' : names.conversation;
  const message = `${param}: the JSON Schema is too complex for this model; use fewer $ref, allOf and anyOf`;
  return new InvalidTextRequest(param, message);
}

/**
 * The requested maximum, limited by what the model gives, what its context has room for, and what all choices of one
 * call together may occupy.
 */
function capOf({ request, model }: TextCall, { inputTokens }: ReadPrompt): number {
  const { choices, topLogprobs, maxOutputTokens = model.maxOutputTokens } = request;
  const room = Math.max(model.contextTokens - inputTokens, 1);
  const logprobsPerToken = topLogprobs === undefined ? 0 : 1 + topLogprobs;
  const together = Math.min(MOST_TOKENS, logprobsPerToken === 0 ? Infinity : MOST_LOGPROBS / logprobsPerToken);
  return Math.min(maxOutputTokens, model.maxOutputTokens, room, Math.max(Math.floor(together / choices), 1));
}

/**
 * What distinguishes one answer from another to the same prompt: nothing if only the most probable word is drawn; the
 * seed; if neither is requested, the choice alone, so that this model is deterministic by default.
 */
function variationOf({ id, request }: TextCall, choice: number): string {
  const { temperature, topP, seed }: TextRequest = request;
  if (temperature === 0 || (topP !== undefined && topP <= GREEDY_TOP_P)) return 'greedy';
  if (seed !== undefined) return `${seed}/${choice}`;
  if (temperature !== undefined) return `${id}/${choice}`;
  return choice === 0 ? 'greedy' : String(choice);
}

async function* streamAnswer(
  call: TextCall,
  choices: readonly Choice[],
  prompt: ReadPrompt,
  pace: Pace,
): AsyncGenerator<TextEvent> {
  let outputTokens = 0;
  let reasoningTokens = 0;
  for (const choice of choices) {
    const { index, plan, budget } = choice;
    for (const { text, tokens } of piecesOf(plan.reasoning, budget)) {
      await pace.wait(tokens.length);
      yield { type: 'reasoning', choice: index, text };
    }
    reasoningTokens += budget.spent;
    yield* streamText(call.request.topLogprobs, choice, pace);
    yield* streamCalls(call.id, choice, pace);
    outputTokens += budget.spent;
    yield { type: 'finish', choice: index, reason: reasonOf(choice) };
  }
  const { inputTokens, cachedInputTokens } = prompt;
  const usage: TokenUsage = { inputTokens, cachedInputTokens, outputTokens, reasoningTokens };
  yield { type: 'usage', usage };
}

function reasonOf({ plan, budget }: Choice): FinishReason {
  if (budget.isShort) return 'length';
  return plan.calls.length > 0 ? 'tool_calls' : 'stop';
}

/** @param alternatives of each token; undefined: no probabilities are reported. */
async function* streamText(alternatives: number | undefined, choice: Choice, pace: Pace): AsyncGenerator<TextEvent> {
  const { index, plan, seed, budget } = choice;
  let position = 0;
  for (const { text, tokens } of piecesOf(plan.text, budget)) {
    await pace.wait(tokens.length);
    const from = position;
    position += tokens.length;
    if (alternatives === undefined) yield { type: 'text', choice: index, text };
    else {
      const logprobs = tokens.map((token, away) => logprobOf(token, seed, from + away, alternatives));
      yield { type: 'text', choice: index, text, logprobs };
    }
  }
}

async function* streamCalls(id: string, { index, plan, budget }: Choice, pace: Pace): AsyncGenerator<TextEvent> {
  for (const [position, call] of plan.calls.entries()) {
    const nameTokens = [...tokensOf(call.name)].length;
    if (!budget.take(nameTokens)) return;
    await pace.wait(nameTokens);
    yield {
      type: 'tool_call',
      choice: index,
      index: position,
      id: callId(`${id}/${index}/${position}`),
      name: call.name,
    };
    for (const { text, tokens } of piecesOf(call.arguments, budget)) {
      await pace.wait(tokens.length);
      yield { type: 'tool_arguments', choice: index, index: position, text };
    }
    if (budget.isShort) return;
  }
}

/** Creates the id of a function call in OpenAI's format. */
function callId(text: string): string {
  return `call_${createHash('sha256').update(text).digest('hex').slice(0, 24)}`;
}

/**
 * When the next piece may be emitted: at once, unless the catalogue gives the model a speed. Now and then other work
 * gets its turn, because the model runs in the process that answers requests.
 */
class Pace {
  readonly #signal: AbortSignal;
  readonly #millisecondsPerToken: number;
  readonly #startedAt = performance.now();
  #tokens = 0;
  #pieces = 0;

  constructor(model: TextModelDefinition, signal: AbortSignal) {
    this.#signal = signal;
    const upstream = model.upstreams.find(({ protocol }) => protocol === 'embedded');
    const speed = Number(upstream?.parameters?.['tokensPerSecond'] ?? 0);
    this.#millisecondsPerToken = speed > 0 ? 1000 / speed : 0;
  }

  /** Resolves when this many more tokens may be emitted. @throws {TextFailure} the client no longer listens. */
  async wait(tokens: number): Promise<void> {
    this.#tokens += tokens;
    this.#pieces += 1;
    const due = this.#startedAt + this.#tokens * this.#millisecondsPerToken - performance.now();
    try {
      if (this.#millisecondsPerToken > 0 && due >= 1) await delay(due, undefined, { signal: this.#signal });
      else if (this.#pieces % PIECES_PER_TURN === 0) await nextTurn(undefined, { signal: this.#signal });
      this.#signal.throwIfAborted();
    } catch (error) {
      throw new TextFailure('interrupted', 'the answer was cancelled', { cause: error });
    }
  }
}

interface ReadPrompt {
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  /** The same for the same conversation and tools. */
  readonly digest: string;
}

/**
 * Remembers the beginnings of conversations, as upstreams do to read prompts faster: what a request shares with an
 * earlier one, in whole messages, is reported as cached. Only hashes and counts are stored, and only in this process.
 */
class PromptMemory {
  readonly #threads: Pick<TextThreads, 'countInput'>;
  /** The tokens of a beginning, by its hash. */
  readonly #seen = new LRUCache<string, number>({ max: MAX_REMEMBERED });

  constructor(threads: Pick<TextThreads, 'countInput'>) {
    this.#threads = threads;
  }

  /**
   * Counts a request's tokens, and remembers its beginnings.
   *
   * @param model identifies the memory, together with the account. @throws {ShareExhaustedError} @throws {TextFailure}
   */
  async read(accountId: string, model: string, request: TextRequest): Promise<ReadPrompt> {
    const empty: CountedRequest = { messages: [], tools: [], format: { type: 'text' } };
    const [first, ...digests] = await digestsOf(`${accountId} ${model}`, request);
    const known = digests.map((digest) => this.#seen.get(digest));
    const unknown = request.messages.filter((_, index) => known[index] === undefined);
    const [perAnswer = 0, around = 0, ...added] = await this.#threads.countInput(accountId, [
      empty,
      { ...request, messages: [] },
      ...unknown.map((message): CountedRequest => ({ ...empty, messages: [message] })),
    ]);
    let tokens = 0;
    let cachedInputTokens = 0;
    let isKnown = true;
    for (const [index, digest] of digests.entries()) {
      const before = known[index];
      isKnown &&= before !== undefined;
      tokens = before ?? tokens + (added.shift() ?? 0) - perAnswer;
      if (isKnown) cachedInputTokens = tokens;
      this.#seen.set(digest, tokens);
    }
    return { inputTokens: tokens + around, cachedInputTokens, digest: digests.at(-1) ?? first };
  }
}
