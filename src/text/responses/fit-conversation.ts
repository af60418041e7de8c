/**
 * `truncation: "auto"` (contract §9): where a model cannot take the whole conversation, its oldest turns are left out.
 * What the system says stays, and so does the last turn. A turn begins with what a user says, so that no call is
 * parted from its output.
 */
import type { Message, TextRequest } from '../request.ts';
import { countEach } from '../tokens.ts';
import type { CountedRequest } from '../tokens.ts';

/**
 * @param room how many tokens the model takes, its answer left out.
 * @param count counts the tokens of each of some requests.
 * @returns the request, as it is or without its oldest turns. It may still be too long: the last turn alone may be.
 */
export async function fitConversation(
  request: TextRequest,
  room: number,
  count: (requests: readonly CountedRequest[]) => Promise<readonly number[]> = countEach,
): Promise<TextRequest> {
  const { turns, kept } = partsOf(request.messages);
  if (turns.length < 2) return request;
  const [whole = 0, ...parts] = await count([
    request,
    { ...request, messages: kept },
    ...turns.map((messages): CountedRequest => ({ messages, tools: [], format: { type: 'text' } })),
  ]);
  if (whole <= room) return request;
  let left = room - (parts[0] ?? 0);
  const taken = new Set(kept);
  for (const [index, turn] of [...turns.entries()].toReversed()) {
    const isNewest = taken.size === kept.length;
    left -= parts[1 + index] ?? 0;
    if (left < 0 && !isNewest) break;
    for (const message of turn) taken.add(message);
  }
  return { ...request, messages: request.messages.filter((message) => taken.has(message)) };
}

function partsOf(messages: readonly Message[]): { readonly turns: Message[][]; readonly kept: readonly Message[] } {
  const turns: Message[][] = [];
  const kept: Message[] = [];
  for (const message of messages) {
    if (message.role === 'system' || message.role === 'developer') kept.push(message);
    else if (message.role === 'user' || turns.length === 0) turns.push([message]);
    else turns.at(-1)?.push(message);
  }
  return { turns, kept };
}
