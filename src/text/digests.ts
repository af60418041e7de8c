/**
 * The beginnings of a conversation, in whole messages, as hashes: code that recognizes an earlier beginning need not
 * store any content.
 */
import { createHash, hash } from 'node:crypto';
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
  let digest = await hashOf([JSON.stringify([owner, tools])]);
  const digests: [string, ...string[]] = [digest];
  for (const message of messages) {
    if (digests.length % TURN_MESSAGES === 0) await nextTurn();
    digest = await digestOf(digest, message);
    digests.push(digest);
  }
  return digests;
}

async function digestOf(before: string, { content, ...rest }: Message): Promise<string> {
  const pieces = [before, JSON.stringify(rest)];
  for (const part of content) {
    const text = part.type === 'image' ? part.url : part.type === 'text' ? part.text : part.refusal;
    pieces.push(JSON.stringify([part.type, part.type === 'image' ? part.detail : null, text.length]), text);
  }
  return hashOf(pieces);
}

async function hashOf(pieces: readonly string[]): Promise<string> {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  // Half the time of a hash object.
  if (length <= TURN_CHARACTERS) return hash('sha256', pieces.join(''), 'base64');
  const whole = createHash('sha256');
  for (const piece of pieces) {
    for (let at = 0; at < piece.length; at += TURN_CHARACTERS) {
      if (at > 0) await nextTurn();
      whole.update(piece.slice(at, at + TURN_CHARACTERS));
    }
  }
  return whole.digest('base64');
}
