/**
 * `include`: what a response shows in addition. For a stored response it can show what was stored, and reasoning can
 * be sealed at any time; what was never there is rejected by its name instead of being left out (contract §9).
 */
import { InvalidTextRequest } from '../text-failure.ts';
import { reasoningText, sealReasoning } from './items.ts';
import type { ConversationItem } from './items.ts';

export const LOGPROBS = 'message.output_text.logprobs';
export const SEALED_REASONING = 'reasoning.encrypted_content';

/** Images are in what `input_items` lists anyway. */
export const INCLUDABLE = [LOGPROBS, SEALED_REASONING, 'message.input_image.image_url'] as const;

/**
 * The output of a stored response, with what the request includes in it.
 *
 * @throws {InvalidTextRequest} it was not stored.
 */
export function withIncluded(
  output: readonly ConversationItem[],
  include: readonly string[],
): readonly ConversationItem[] {
  const index = include.indexOf(LOGPROBS);
  if (index !== -1 && output.some(hasNoLogprobs)) {
    const why = 'this response was created without log probabilities; request them at creation';
    throw new InvalidTextRequest(`include.${index}`, `include.${index}: ${LOGPROBS}: ${why}`);
  }
  const sealed = include.indexOf(SEALED_REASONING);
  return sealed === -1 ? output : output.map((item) => sealedItem(item, `include.${sealed}`));
}

function hasNoLogprobs(item: ConversationItem): boolean {
  if (item.type !== 'message' || item.role !== 'assistant') return false;
  return item.content.some((part) => part.type === 'output_text' && part.text !== '' && noneIn(part.logprobs));
}

/** Upstreams may omit the member. */
function noneIn(logprobs: readonly unknown[] | undefined): boolean {
  return logprobs === undefined || logprobs.length === 0;
}

function sealedItem(item: ConversationItem, param: string): ConversationItem {
  if (item.type !== 'reasoning' || item.encrypted_content !== undefined) return item;
  const text = reasoningText(item);
  if (text === undefined) {
    const why = 'the reasoning of this response is not stored; request it at creation';
    throw new InvalidTextRequest(param, `${param}: ${SEALED_REASONING}: ${why}`);
  }
  return { ...item, encrypted_content: sealReasoning(text) };
}
