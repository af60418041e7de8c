/**
 * The engine of `darkroom/scene`: reads the prompt, composes a scene, paints it, gives it the finish of its style,
 * letters what stands in quotes, and encodes it.
 */
import { createCanvas } from '@napi-rs/canvas';
import type { EngineInput, RenderedFile } from '../engine.ts';
import { compose, placeLight } from './composition.ts';
import { encodeCanvas, outputFormat } from './encode.ts';
import { applyFinish } from './finish.ts';
import { choosePalette } from './palette.ts';
import { readPrompt } from './prompt-reading.ts';
import type { PromptReading } from './prompt-reading.ts';
import { createRandom, hashText } from './random.ts';
import { letterScene } from './scene-lettering.ts';
import { paintScene } from './scene-painting.ts';
import { pixelSize } from './sizes.ts';
import type { Stage } from './stage.ts';

/** Area of a picture in square units, whatever its shape. */
const AREA = 1_000_000;

/** Renders a scene. Input: `prompt`, and optionally `aspect_ratio`, `resolution`, `output_format` (models/scene.json). */
export async function renderScene(input: EngineInput, seed: number): Promise<readonly RenderedFile[]> {
  const prompt = typeof input['prompt'] === 'string' ? input['prompt'] : '';
  const reading: PromptReading = readPrompt(prompt);
  const random = createRandom(hashText(`${seed}/${reading.scenery}`));
  const pixels = pixelSize(input['aspect_ratio'], input['resolution'], '1:1');
  const canvas = createCanvas(pixels.width, pixels.height);
  const context = canvas.getContext('2d');
  const scale = Math.sqrt((pixels.width * pixels.height) / AREA);
  const size = { width: pixels.width / scale, height: pixels.height / scale };
  const composition = compose(reading, random.fork('composition'));
  const palette = choosePalette(reading, composition.time, composition.season, random.fork('palette'));
  const stage: Stage = {
    context,
    ...size,
    scale,
    horizon: composition.horizon * size.height,
    palette: composition.setting === 'space' ? { ...palette, light: [232, 236, 246] } : palette,
    light: placeLight(composition, size, random.fork('light')),
    time: composition.time,
    season: composition.season,
    weather: composition.weather,
    style: reading.style,
    isFlat: reading.style === 'minimal',
    random: random.fork('stage'),
  };
  context.scale(scale, scale);
  paintScene(stage, composition);
  applyFinish(stage);
  letterScene(stage, reading.quotations);
  return [{ bytes: await encodeCanvas(canvas, outputFormat(input['output_format'])) }];
}
