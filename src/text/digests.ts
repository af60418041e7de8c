/**
 * The beginnings of a conversation, in whole messages, as hashes: code that recognizes an earlier beginning need not
 * store any content.
 */
import { createHash } from 'node:crypto';
import type { Hash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Message, TextRequest } from './request.ts';

/** The number of characters after which other work gets its turn: some 2 ms of hashing. */
const TURN_CHARACTERS = 512 * 1024;
/** The number of messages after which other work gets its turn, for many short messages. */
const TURN_MESSAGES = 256;

/**
 * Digests of the tools, and of each message together with everything before it. Gives other work its turn.
 *
 * @param owner everything else that the beginnings must have in common.
 */
export async function digestsOf(
  owner: string,
  { tools, messages }: Pick<TextRequest, 'tools' | 'messages'>,
): Promise<readonly [string, ...string[]]> {
  const hash = createHash('sha256');
  await update(hash, JSON.stringify([owner, tools]));
  let digest = hash.digest('base64');
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
