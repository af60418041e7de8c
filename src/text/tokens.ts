/**
 * Counts tokens that no other component has counted: a request's input, before it is sent anywhere, and the output of
 * an upstream that does not report its usage. OpenAI's `o200k_base`; other models' own counts differ by some percent.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Message, TextRequest } from './request.ts';

type CountTokens = (text: string) => number;

/**
 * A longer run of letters, or of blanks, is counted in pieces: the tokenizer takes such a run as a whole, in time that
 * grows with the square of its length. Where it is cut, it counts a token more at most.
 */
const MAX_RUN = 96;
const LONG_RUN = /\S{97}|\s{97}/;
const PIECES = new RegExp(`\\S{1,${MAX_RUN}}|\\s{1,${MAX_RUN}}`, 'g');

/**
 * Random letters take some 30 ms for as many on a slow machine, usual text less than one: then other work gets its
 * turn.
 */
const TURN_CHARACTERS = 16 * 1024;

/** What the form of a conversation costs in addition to its words (OpenAI's cookbook on counting tokens). */
const PER_MESSAGE = 3;
const PER_ANSWER = 3;
const PER_TOOL = 8;
/**
 * The estimated tokens of an image: high detail, up to four tiles. The upstream reports the actual number in its usage.
 */
const PER_IMAGE = 765;
const PER_SMALL_IMAGE = 85;
/**
 * The estimated number of base64 characters per token of sealed reasoning; a token itself has some four and a half
 * characters.
 */
const SEALED_LETTERS_PER_TOKEN = 6;

let loaded: CountTokens | undefined;

/** Loads the tokenizer's tables (some 0.2 s, 60 MB), once; before that nothing can be counted. */
export async function loadTokenizer(): Promise<void> {
  if (loaded !== undefined) return;
  const { countTokens } = await import('gpt-tokenizer/encoding/o200k_base');
  // Text that looks like a control token is ordinary text here.
  const options = { disallowedSpecial: new Set<string>() };
  loaded = (text) => countTokens(text, options);
}

/** How many tokens a text has. @throws {Error} `loadTokenizer` was not awaited. */
export function countTextTokens(text: string): number {
  if (loaded === undefined) throw new Error('the tokenizer is not loaded');
  if (!LONG_RUN.test(text)) return loaded(text);
  let tokens = 0;
  for (const [piece] of text.matchAll(PIECES)) tokens += loaded(piece);
  return tokens;
}

/** The parts of a request that are counted. */
export type CountedRequest = Pick<TextRequest, 'messages' | 'tools' | 'format'>;

/**
 * Whether some requests together have more characters to count than the given number. Counting takes up to 4 µs for
 * each: long ones are counted in a thread (threads/text-threads.ts).
 */
export function isLongerThan(requests: readonly CountedRequest[], characters: number): boolean {
  let left = characters;
  for (const { messages, tools, format } of requests) {
    for (const part of partsOf(messages, tools, format)) {
      // Parts with a fixed count take time too, if there are very many.
      left -= typeof part === 'number' ? 1 : part.length;
      if (left < 0) return true;
    }
  }
  return false;
}

/** The number of input tokens of each of some requests, as `countInputTokens` counts. */
export async function countEach(requests: readonly CountedRequest[], limit = Infinity): Promise<readonly number[]> {
  const counts: number[] = [];
  for (const request of requests) counts.push(await countInputTokens(request, limit));
  return counts;
}

/**
 * The number of input tokens of a request: its messages, tools and schema. Gives other work its turn while it counts a
 * long text.
 *
 * @param limit counting ends soon after this many: the result then only means more than that.
 */
export async function countInputTokens({ messages, tools, format }: CountedRequest, limit = Infinity): Promise<number> {
  await loadTokenizer();
  let tokens = PER_ANSWER;
  for (const part of partsOf(messages, tools, format)) {
    if (tokens > limit) break;
    tokens += typeof part === 'number' ? part : await count(part, limit - tokens);
  }
  return tokens;
}

/** What is counted: texts, and what has a fixed number of tokens. */
function* partsOf(
  messages: TextRequest['messages'],
  tools: TextRequest['tools'],
  format: TextRequest['format'],
): Generator<string | number> {
  for (const message of messages) {
    yield PER_MESSAGE;
    yield* partsOfMessage(message);
  }
  for (const tool of tools) {
    yield PER_TOOL;
    yield JSON.stringify(tool);
  }
  if (format.type === 'json_schema') {
    yield JSON.stringify(format.schema);
    yield `${format.name}${format.description ?? ''}`;
  }
}

function* partsOfMessage(message: Message): Generator<string | number> {
  for (const part of message.content) {
    if (part.type === 'image') yield part.detail === 'low' ? PER_SMALL_IMAGE : PER_IMAGE;
    else yield part.type === 'text' ? part.text : part.refusal;
  }
  if (message.role === 'tool') return;
  if (message.name !== undefined) {
    yield 1;
    yield message.name;
  }
  if (message.role !== 'assistant') return;
  if (message.reasoning !== undefined) yield message.reasoning;
  if (message.sealedReasoning !== undefined) {
    yield Math.ceil(message.sealedReasoning.length / SEALED_LETTERS_PER_TOKEN);
  }
  for (const call of message.toolCalls) {
    yield PER_TOOL;
    yield `${call.name}${call.arguments}`;
  }
}

async function count(text: string, limit: number): Promise<number> {
  if (text.length <= TURN_CHARACTERS) return countTextTokens(text);
  let tokens = 0;
  for (let at = 0; at < text.length && tokens <= limit; at += TURN_CHARACTERS) {
    tokens += countTextTokens(text.slice(at, at + TURN_CHARACTERS));
    await nextTurn();
  }
  return tokens;
}
