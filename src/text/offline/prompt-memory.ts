/**
 * Remembers the beginnings of conversations, as upstreams do to read prompts faster: what a request shares with an
 * earlier one, in whole messages, is reported as cached. Only hashes and counts are stored, and only in this process.
 */
import { LRUCache } from 'lru-cache';
import { digestsOf } from '../digests.ts';
import type { TextRequest } from '../request.ts';
import type { CountedRequest } from '../tokens.ts';
import type { TextThreads } from '../threads/text-threads.ts';

export interface ReadPrompt {
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  /** The same for the same conversation and tools. */
  readonly digest: string;
}

/** The maximum number of beginnings of prompts in memory, some 200 bytes each. */
const MAX_REMEMBERED = 20_000;

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
