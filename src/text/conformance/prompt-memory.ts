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
import { countInputTokens } from '../tokens.ts';

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

export class PromptMemory {
  /** The tokens of a beginning, by its hash. */
  readonly #seen = new LRUCache<string, number>({ max: MAX_REMEMBERED });

  /** Counts a request's tokens, and remembers its beginnings. @param owner whose memory it is: an account's and a model's. */
  async read(owner: string, request: TextRequest): Promise<ReadPrompt> {
    const empty: TextRequest = { ...request, messages: [], tools: [], format: { type: 'text' } };
    const perAnswer = await countInputTokens(empty);
    let digest = createHash('sha256')
      .update(JSON.stringify([owner, request.tools]))
      .digest('base64');
    let tokens = 0;
    let cachedInputTokens = 0;
    let isKnown = true;
    for (const message of request.messages) {
      digest = await digestOf(digest, message);
      const known = this.#seen.get(digest);
      isKnown &&= known !== undefined;
      tokens = known ?? tokens + (await countInputTokens({ ...empty, messages: [message] })) - perAnswer;
      if (isKnown) cachedInputTokens = tokens;
      this.#seen.set(digest, tokens);
    }
    const inputTokens = tokens + (await countInputTokens({ ...request, messages: [] }));
    return { inputTokens, cachedInputTokens, digest };
  }
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
