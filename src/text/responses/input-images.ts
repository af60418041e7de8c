/**
 * Where the images of a response's input are, for the validation of their URLs (image-addresses.ts) and for fetching
 * them.
 */
import type { ImageAddress } from '../image-addresses.ts';
import type { InlinedImages } from '../inline-images.ts';
import type { InputPart, ModelItem, UnnamedInputItem } from './items.ts';

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
