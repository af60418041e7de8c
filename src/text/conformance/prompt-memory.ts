/**
 * Which beginnings of conversations were seen before, as upstreams remember them to read prompts faster: what a request
 * shares with an earlier one, in whole messages, is reported as cached. Only hashes and counts are kept, and only in
 * this process.
 */
import { createHash } from 'node:crypto';
import type { Hash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Message, TextRequest } from '../request.ts';
import type { CountedRequest } from '../tokens.ts';
import type { TextThreads } from '../threads/text-threads.ts';

export interface ReadPrompt {
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  /** The same for the same conversation and tools. */
  readonly digest: string;
}

/** Beginnings: some 200 bytes each. */
const MAX_REMEMBERED = 20_000;
/** Some 2 ms of hashing: after this many characters others get their turn. */
const TURN_CHARACTERS = 512 * 1024;
/** The same of short messages. */
const TURN_MESSAGES = 256;

export class PromptMemory {
  readonly #threads: Pick<TextThreads, 'countInput'>;
  /** The tokens of a beginning, by its hash. */
  readonly #seen = new LRUCache<string, number>({ max: MAX_REMEMBERED });

  constructor(threads: Pick<TextThreads, 'countInput'>) {
    this.#threads = threads;
  }

  /**
   * Counts a request's tokens, and remembers its beginnings.
   *
   * @param model whose memory it is, together with the account. @throws {ShareExhaustedError} @throws {TextFailure}
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

/** Of the tools, and of each message together with all that comes before it. Gives others their turn. */
async function digestsOf(owner: string, { tools, messages }: TextRequest): Promise<readonly [string, ...string[]]> {
  let digest = createHash('sha256')
    .update(JSON.stringify([owner, tools]))
    .digest('base64');
  const digests: [string, ...string[]] = [digest];
  for (const message of messages) {
    if (digests.length % TURN_MESSAGES === 0) await nextTurn();
    digest = await digestOf(digest, message);
    digests.push(digest);
  }
  return digests;
}

async function digestOf(before: string, message: Message): Promise<string> {
  const hash = createHash('sha256').update(before);
  const { content, ...rest } = message;
  hash.update(JSON.stringify(rest));
  for (const part of content) {
    const text = part.type === 'image' ? part.url : part.type === 'text' ? part.text : part.refusal;
    hash.update(JSON.stringify([part.type, part.type === 'image' ? part.detail : null, text.length]));
    await update(hash, text);
  }
  return hash.digest('base64');
}

async function update(hash: Hash, text: string): Promise<void> {
  for (let at = 0; at < text.length; at += TURN_CHARACTERS) {
    if (at > 0) await nextTurn();
    hash.update(text.slice(at, at + TURN_CHARACTERS));
  }
}
