/**
 * The parameters of the scene engine, each field read once (spec §2.5; models/*.json define which model takes which).
 */
import type { EngineInput } from '../engine.ts';
import { outputFormat } from './encode.ts';
import type { OutputFormat } from './encode.ts';
import { readNegation, without } from './negative-prompt.ts';
import type { Negation } from './negative-prompt.ts';
import { readPrompt } from './prompt-reading.ts';
import type { PromptReading } from './prompt-reading.ts';
import type { AspectRatio, PixelSize } from './sizes.ts';
import { namedSize, nearestRatio, pixelSize } from './sizes.ts';

/** How much work goes into an image: `quality`, or `prompt_upsampling`, which requests the most. */
export type Effort = 'low' | 'medium' | 'high';

export interface SceneRequest {
  readonly reading: PromptReading;
  readonly negation: Negation | undefined;
  readonly pixels: PixelSize;
  /** How many images. */
  readonly images: number;
  readonly effort: Effort;
  /** Whether to enrich the prompt. */
  readonly isUpsampled: boolean;
  readonly format: OutputFormat;
}

const MAX_IMAGES = 4;
/** The ratios that `auto` chooses from. */
const AUTO_RATIOS: readonly [AspectRatio, ...AspectRatio[]] = [
  '1:1',
  '4:3',
  '3:4',
  '3:2',
  '2:3',
  '16:9',
  '9:16',
  '2:1',
];

const UPRIGHT =
  /\b(portrait|tall|tower|lighthouse|waterfall|skyscraper|poster|phone|wallpaper for a phone|vertical|rocket|giraffe|headshot|story)\b/i;
const WIDE =
  /\b(panorama|panoramic|wide|banner|cinematic|widescreen|horizon|landscape|skyline|coast|desert|sea|road)\b/i;
const SQUARE = /\b(square|avatar|icon|album|logo|sticker|badge)\b/i;

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The shape that suits a prompt, or its reference image. */
function autoRatio(prompt: string, image: PixelSize | undefined): AspectRatio {
  if (SQUARE.test(prompt)) return '1:1';
  if (image !== undefined) return nearestRatio(image, AUTO_RATIOS);
  if (UPRIGHT.test(prompt)) return '3:4';
  return WIDE.test(prompt) ? '16:9' : '4:3';
}

/**
 * Reads an input.
 *
 * @param reference the first of its reference images.
 */
export function readSceneRequest(input: EngineInput, reference: PixelSize | undefined): SceneRequest {
  const prompt = text(input['prompt']);
  const negative = text(input['negative_prompt']);
  const negation = negative === '' ? undefined : readNegation(negative);
  const reading = readPrompt(prompt);
  const { aspect_ratio: ratio, resolution, quality, n } = input;
  const isUpsampled = input['prompt_upsampling'] === true;
  const fallback = ratio === 'auto' || ratio === 'match_input_image' ? autoRatio(prompt, reference) : '1:1';
  return {
    reading: negation === undefined ? reading : without(reading, negation),
    negation,
    pixels: namedSize(input['size']) ?? pixelSize(ratio, resolution, fallback),
    images: typeof n === 'number' ? Math.max(1, Math.min(MAX_IMAGES, Math.trunc(n))) : 1,
    effort: isUpsampled || quality === 'high' ? 'high' : quality === 'low' ? 'low' : 'medium',
    isUpsampled,
    format: outputFormat(input['output_format']),
  };
}
