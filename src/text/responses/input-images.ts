/** Where the images of a response's input stand, for the check of their addresses (image-addresses.ts). */
import type { ImageAddress } from '../image-addresses.ts';
import type { UnnamedInputItem } from './items.ts';

export function imagesOfInput(input: readonly UnnamedInputItem[]): readonly ImageAddress[] {
  return input.flatMap((item, index) => {
    const member = item.type === 'message' ? 'content' : 'output';
    const parts = item.type === 'message' ? item.content : item.type === 'function_call_output' ? item.output : [];
    if (typeof parts === 'string') return [];
    return parts.flatMap((part, place) =>
      part.type === 'input_image'
        ? [{ field: `input.${index}.${member}.${place}.image_url`, url: part.image_url }]
        : [],
    );
  });
}
