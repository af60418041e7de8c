/**
 * Where the images of a response's input are, for the validation of their URLs (image-addresses.ts) and for fetching
 * them.
 */
import { fileIdOf } from '../image-addresses.ts';
import type { ImageAddress } from '../image-addresses.ts';
import type { InlinedImages } from '../inline-images.ts';
import type { ConversationItem, InputPart, ModelItem, UnnamedInputItem } from './items.ts';

export function imagesOfInput(input: readonly UnnamedInputItem[]): readonly ImageAddress[] {
  return input.flatMap((item, index) => {
    const member = item.type === 'message' ? 'content' : 'output';
    const parts = item.type === 'message' ? item.content : item.type === 'function_call_output' ? item.output : [];
    if (typeof parts === 'string') return [];
    return parts.flatMap((part, partIndex) =>
      part.type === 'input_image'
        ? [{ field: `input.${index}.${member}.${partIndex}.image_url`, url: part.image_url }]
        : [],
    );
  });
}

/** An item as clients know it: an image that is a file has no URL. */
export function withFileIds(item: ConversationItem): object {
  const shown = (part: InputPart): object => {
    const fileId = part.type === 'input_image' ? fileIdOf(part.image_url) : undefined;
    return fileId === undefined ? part : { ...part, image_url: null, file_id: fileId };
  };
  if (item.type === 'message' && item.role !== 'assistant') return { ...item, content: item.content.map(shown) };
  if (item.type !== 'function_call_output' || typeof item.output === 'string') return item;
  return { ...item, output: item.output.map(shown) };
}

/** The items with every fetched image in place of its URL. */
export function withInlinedItems<Item extends ModelItem>(
  items: readonly Item[],
  inlined: InlinedImages,
): readonly Item[] {
  if (inlined.size === 0) return items;
  const replaced = (part: InputPart): InputPart =>
    part.type === 'input_image' ? { ...part, image_url: inlined.get(part.image_url) ?? part.image_url } : part;
  return items.map((item) => {
    if (item.type === 'message' && item.role !== 'assistant') return { ...item, content: item.content.map(replaced) };
    if (item.type !== 'function_call_output' || typeof item.output === 'string') return item;
    return { ...item, output: item.output.map(replaced) };
  });
}
