/**
 * `truncation: "auto"` (contract §9): if a model cannot take the whole conversation, its oldest turns are left out.
 * System messages stay, and so does the last turn. A turn begins with a user message, so that no call is separated
 * from its output. Items are left out, and not messages, so that every upstream is sent the same conversation.
 */
import { countEach } from '../tokens.ts';
import type { CountedRequest } from '../tokens.ts';
import { messagesOf } from './conversation.ts';
import type { DecodedResponsesRequest } from './decode-request.ts';
import type { ModelItem } from './items.ts';

/**
 * @param room how many tokens the model takes, not counting its answer.
 * @param count counts the tokens of each of some requests.
 * @returns the request, unchanged or without its oldest turns. It may still be too long: the last turn alone may be.
 */
export async function fitConversation(
  decoded: DecodedResponsesRequest,
  room: number,
  count: (requests: readonly CountedRequest[]) => Promise<readonly number[]> = countEach,
): Promise<DecodedResponsesRequest> {
  const { request, instructions, items } = decoded;
  const { turns, systemItems } = partsOf(items);
  if (turns.length < 2) return decoded;
  const [whole = 0, ...parts] = await count([
    request,
    { ...request, messages: messagesOf(instructions, systemItems) },
    ...turns.map((turn): CountedRequest => ({
      messages: messagesOf(undefined, turn),
      tools: [],
      format: { type: 'text' },
    })),
  ]);
  if (whole <= room) return decoded;
  let left = room - (parts[0] ?? 0);
  const taken = new Set(systemItems);
  for (const [index, turn] of [...turns.entries()].toReversed()) {
    const isNewest = taken.size === systemItems.length;
    left -= parts[1 + index] ?? 0;
    if (left < 0 && !isNewest) break;
    for (const item of turn) taken.add(item);
  }
  const fitting = items.filter((item) => taken.has(item));
  return { ...decoded, items: fitting, request: { ...request, messages: messagesOf(instructions, fitting) } };
}

function partsOf(items: readonly ModelItem[]): {
  readonly turns: ModelItem[][];
  readonly systemItems: readonly ModelItem[];
} {
  const turns: ModelItem[][] = [];
  const systemItems: ModelItem[] = [];
  for (const item of items) {
    const role = item.type === 'message' ? item.role : undefined;
    if (role === 'system' || role === 'developer') systemItems.push(item);
    else if (role === 'user' || turns.length === 0) turns.push([item]);
    else turns.at(-1)?.push(item);
  }
  return { turns, systemItems };
}
