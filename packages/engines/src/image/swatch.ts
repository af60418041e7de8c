/**
 * The engine with almost no work: an image of one colour, chosen by prompt and seed. Benchmarks and tests use it to
 * measure everything around the rendering.
 */
import { createCanvas } from '@napi-rs/canvas';
import type { EngineWork, RenderedFile } from '../engine.ts';
import { encodeCanvas, outputFormat } from './encode.ts';
import { hashText } from '@darkroom/seeded-random/random';

/** Pixels per side if the input names none. */
const DEFAULT_SIDE = 16;
/** The most pixels per side, whatever the input says. */
const LARGEST_SIDE = 4096;

function side(value: unknown): number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1
    ? Math.min(value, LARGEST_SIDE)
    : DEFAULT_SIDE;
}

/** Renders one colour. Input: `prompt`, and optionally `seed`, `width`, `height`, `output_format`. */
export async function renderSwatch({ input, seed }: EngineWork): Promise<readonly RenderedFile[]> {
  const canvas = createCanvas(side(input['width']), side(input['height']));
  const context = canvas.getContext('2d');
  const prompt = typeof input['prompt'] === 'string' ? input['prompt'] : '';
  context.fillStyle = `#${(hashText(`${seed}/${prompt}`) & 0xffffff).toString(16).padStart(6, '0')}`;
  context.fillRect(0, 0, canvas.width, canvas.height);
  return [{ bytes: await encodeCanvas(canvas, outputFormat(input['output_format'])) }];
}
