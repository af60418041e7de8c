/**
 * The engine of the models that make an image from words: reads the prompt, composes a scene, paints it, applies the
 * finish of its style, letters the quoted texts, and encodes it; as many images as the input requests.
 */
import { createCanvas } from '@napi-rs/canvas';
import type { Canvas } from '@napi-rs/canvas';
import type { EngineWork, RenderedFile } from '../engine.ts';
import { compose } from './composition.ts';
import { encodeCanvas } from './encode.ts';
import { applyFinish } from './finish.ts';
import { avoidColours } from './finish/avoidance.ts';
import { applyBloom } from './layers/richness.ts';
import type { Style } from './lexicon.ts';
import { choosePalette } from './palette.ts';
import { readImages } from './analysis/input-images.ts';
import { upsampled } from './prompt-upsampling.ts';
import { createRandom, hashText } from '@darkroom/seeded-random/random';
import { requireLetterable } from './lettering.ts';
import { atItsHour, colouredAs, laidOutAs, litAs, shareOfColours } from './reference/look.ts';
import { backdropOf, drawReferences, readReferences } from './reference/use.ts';
import type { References } from './reference/use.ts';
import { letterScene } from './scene-lettering.ts';
import { paintScene } from './scene-painting.ts';
import { readSceneRequest } from './scene-request.ts';
import type { SceneRequest } from './scene-request.ts';
import { stageFor } from './scene-stage.ts';

/** An image of low quality is painted at half its size and scaled up. */
const HALF = 0.5;
/** So is one with more pixels than this in a style whose finish works on every pixel and has no edges to lose. */
const MOST_FINISHED = 6_000_000;
const WORKED_BY_PIXEL: ReadonlySet<Style> = new Set(['watercolour', 'ink', 'sketch', 'glass']);

/** The longest side of a reference: more detail is not visible in a scene. */
const REFERENCE_EDGE = 1280;

/** Paints one of the requested images. */
function paintOne(request: SceneRequest, references: References | undefined, seed: number, image: number): Canvas {
  const { pixels, effort, negation } = request;
  const { scenery } = request.reading;
  // The first image of several is the same as a single one.
  const random = createRandom(hashText(image === 0 ? `${seed}/${scenery}` : `${seed}/${scenery}/${image}`));
  const timed = references === undefined ? request.reading : atItsHour(request.reading, references.features);
  const reading = request.isUpsampled ? upsampled(timed, random.fork('upsampling')) : timed;
  const composed = compose(reading, random.fork('composition'));
  const chosen = choosePalette(reading, composed.time, composed.season, random.fork('palette'));
  const composition = references === undefined ? composed : laidOutAs(composed, references.features);
  const palette =
    references === undefined
      ? chosen
      : colouredAs(chosen, references.features, reading, shareOfColours(request.reading));

  const isLarge = pixels.width * pixels.height > MOST_FINISHED;
  const share = effort === 'low' || (isLarge && WORKED_BY_PIXEL.has(reading.style)) ? HALF : 1;
  const canvas = createCanvas(Math.round(pixels.width * share), Math.round(pixels.height * share));
  const look = { palette, style: reading.style, ...(effort === 'medium' ? {} : { detail: effort }) };
  const plain = stageFor(canvas.getContext('2d'), composition, look, random);
  const stage = references === undefined ? plain : litAs(plain, references.features);
  const backdrop = references === undefined ? undefined : backdropOf(references, composition, scenery);
  paintScene(stage, composition, backdrop);
  if (references !== undefined) drawReferences(stage, references, composition, scenery);
  if (effort === 'high') applyBloom(stage, 0.4);
  applyFinish(stage);
  if (negation !== undefined && negation.colours.length > 0) avoidColours(stage.context, negation.colours);

  if (share === 1) {
    letterScene(stage, reading.quotations);
    return canvas;
  }
  const large = createCanvas(pixels.width, pixels.height);
  const context = large.getContext('2d');
  context.imageSmoothingQuality = 'high';
  context.drawImage(canvas, 0, 0, pixels.width, pixels.height);
  const scale = stage.scale / share;
  context.scale(scale, scale);
  letterScene({ ...stage, context, scale }, reading.quotations);
  return large;
}

/**
 * Renders scenes. Input: `prompt`, and those of `aspect_ratio`, `resolution`, `size`, `n`, `quality`,
 * `negative_prompt`, `prompt_upsampling`, `image_urls`, `output_format` that the model takes (models/*.json).
 *
 * @throws {UndecodableMediaError} an image of `image_urls` cannot be read.
 * @throws {UnusableInputError} no letter of a quoted text can be drawn.
 */
export async function renderScene(work: EngineWork): Promise<readonly RenderedFile[]> {
  const { input, seed, media, progress } = work;
  const images = await readImages(media, REFERENCE_EDGE);
  const references = readReferences(images);
  const request = readSceneRequest(input, images[0]);
  requireLetterable(request.reading.quotations);
  const files: RenderedFile[] = [];
  for (let image = 0; image < request.images; image++) {
    const canvas = paintOne(request, references, seed, image);
    files.push({ bytes: await encodeCanvas(canvas, request.format) });
    progress((image + 1) / request.images);
  }
  return files;
}
