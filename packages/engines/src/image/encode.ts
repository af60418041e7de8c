/**
 * From pixels to a file: the `output_format` of the image models. The canvas library encodes them; it writes neither
 * times nor program names, so that the same pixels give the same bytes.
 */
import type { Canvas } from '@napi-rs/canvas';

export type OutputFormat = 'png' | 'jpeg' | 'webp';

/** 90 of 100: no visible artefacts in flat colour, a quarter of the size of 100. */
const LOSSY_QUALITY = 90;

/** The format that an input requests; PNG if it names none (models/*.json, `output_format`). */
export function outputFormat(value: unknown): OutputFormat {
  return value === 'jpeg' || value === 'webp' ? value : 'png';
}

/** Encodes an image outside this thread. */
export async function encodeCanvas(canvas: Canvas, format: OutputFormat): Promise<Uint8Array> {
  if (format === 'png') return await canvas.encode('png');
  return await canvas.encode(format, LOSSY_QUALITY);
}
