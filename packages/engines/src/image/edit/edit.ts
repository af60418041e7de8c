/**
 * The engine that edits the caller's images as the prompt says: one image, or several joined into one. The prompt
 * becomes a plan; the plan is carried out step by step on the pixels; lettering and frames come last.
 */
import type { EngineWork, RenderedFile } from '../../engine.ts';
import { UndecodableMediaError } from '../../engine.ts';
import { encodeCanvas, outputFormat } from '../encode.ts';
import { applyFinish } from '../finish.ts';
import { pixelArt } from '../finish/facets.ts';
import type { Pixels } from '../finish/pixels.ts';
import { canvasOf, readImages } from '../analysis/input-images.ts';
import { createRandom, hashText } from '@darkroom/seeded-random/random';
import type { Random } from '@darkroom/seeded-random/random';
import { matchingSize, namedSize, pixelSize } from '../sizes.ts';
import type { PixelSize } from '../sizes.ts';
import { addThings, changeSky, drawLettering } from './additions.ts';
import { changeBackground, removeBackground, removeSubject } from './background.ts';
import { improve, applyFocus } from './focus.ts';
import { fitTo, frame, resized } from './framing.ts';
import { requireLetterable } from '../lettering.ts';
import { frameWith } from './frames.ts';
import { lightWith, relight } from './light.ts';
import { stageOver } from './image-stage.ts';
import { planEdits } from './plan.ts';
import type { EditPlan } from './plan.ts';
import type { Edit } from './plan-rules.ts';
import { join, joiningOf, shapeOf } from './joining.ts';
import { simplify } from './simplification.ts';
import { applyTone, recolour } from './tones.ts';
import { applyAtmosphere, applySeason } from './weather.ts';
import { Workpiece } from './workpiece.ts';

/** For an image that is edited alone, and for each of several. */
const LARGEST_EDGE = 4096;
const LARGEST_OF_SEVERAL = 1600;
/** The least and the most pixels of a retouched image: between them it keeps its size. */
const FEWEST_PIXELS = 1024 * 1024;
const MOST_PIXELS = 2048 * 2048;
/** Square pixels across an image in pixel art: fewer than in a scene, whose things are larger. */
const PIXELS_ACROSS = 120;
/** Changes are computed on at most this many pixels; a larger image is scaled up, and lettered at its full size. */
const WORKED_PIXELS = 2048 * 2048;

/** A size of the same shape with its pixels between two bounds. */
function fitPixels({ width, height }: PixelSize, fewest: number, most: number): PixelSize {
  const area = width * height;
  const share = Math.sqrt(Math.max(fewest, Math.min(most, area)) / area);
  return { width: Math.max(1, Math.round(width * share)), height: Math.max(1, Math.round(height * share)) };
}

/** The exact pixels of the result: of a named ratio, of the shape of the input, or of the edited image. */
function sizeOf(work: EngineWork, first: PixelSize, left: PixelSize): PixelSize {
  const { aspect_ratio: ratio, resolution, size } = work.input;
  const named = namedSize(size);
  if (named !== undefined) return named;
  if (work.media.has('image')) {
    // The model with one image field has no ratio: only cropping or extending in the prompt changes the shape.
    const area = Math.sqrt((first.width * first.height) / (left.width * left.height));
    return fitPixels({ width: left.width * area, height: left.height * area }, FEWEST_PIXELS, MOST_PIXELS);
  }
  if (ratio === 'match_input_image') return matchingSize(first, resolution);
  if (ratio === undefined || ratio === 'auto') return matchingSize(left, resolution);
  return pixelSize(ratio, resolution, '1:1');
}

function change(work: Workpiece, edit: Edit): void {
  switch (edit.kind) {
    case 'light':
      return relight(work, edit.hour);
    case 'lamp':
      return lightWith(work, edit.lamp);
    case 'tone':
      return applyTone(work, edit.tone);
    case 'recolour':
      return recolour(work, edit);
    case 'season':
      return applySeason(work, edit.season);
    case 'air':
      return applyAtmosphere(work, edit.air);
    case 'focus':
      return applyFocus(work, edit.focus);
    case 'sky':
      return changeSky(work, edit.words);
    case 'background':
      return changeBackground(work, edit.words);
    case 'remove':
      return edit.what === 'background' ? removeBackground(work) : removeSubject(work, edit.words);
    case 'add':
      return addThings(work, edit.words);
    case 'style':
      simplify(work.pixels, edit.style);
      return work.draw((canvas) => {
        const stage = stageOver(canvas, work, { style: edit.style, name: 'style' });
        if (edit.style === 'pixel') pixelArt(stage, PIXELS_ACROSS);
        else applyFinish(stage);
      });
    case 'frame':
      return frameWith(work, edit.form);
    default:
      return undefined;
  }
}

/** Carries out all parts of a plan that change the content of the image. */
function applyPlan(work: Workpiece, plan: EditPlan, isJoined: boolean, progress: (share: number) => void): void {
  const edits = plan.changes.filter(({ kind }) => kind !== 'frame');
  const isNothing = plan.changes.length + plan.framing.length + plan.lettering.length === 0 && !isJoined;
  if (isNothing) {
    applyTone(work, 'enhance');
    improve(work);
  }
  if (edits.length > 1) work.analyse();
  for (const [index, edit] of edits.entries()) {
    change(work, edit);
    progress((index + 1) / edits.length);
  }
}

/** The parts that need to be sharpest at the final size: letters and frames. */
function finish(work: Workpiece, plan: EditPlan): void {
  drawLettering(work, plan.lettering, plan.letteringPosition, plan.words);
  for (const edit of plan.changes) if (edit.kind === 'frame') change(work, edit);
}

/** The one image that is edited: the only one, or all of them joined. */
function createBase(images: readonly [Pixels, ...Pixels[]], plan: EditPlan, work: EngineWork): Pixels {
  if (images.length === 1) return images[0];
  const joining = joiningOf(plan.words);
  const { aspect_ratio: ratio, resolution, size } = work.input;
  const requested = namedSize(size);
  if (requested !== undefined) return join(images, joining, plan.words, requested);
  const named = typeof ratio === 'string' && ratio.includes(':');
  const shape = named
    ? pixelSize(ratio, resolution, '1:1')
    : ratio === 'match_input_image'
      ? images[0]
      : shapeOf(images, joining);
  return join(images, joining, plan.words, matchingSize(shape, resolution));
}

/** The rest of a plan after the images are joined: the words that chose how are not edits of the result. */
function afterJoining(plan: EditPlan): EditPlan {
  const isUsed = ({ kind }: Edit): boolean => kind === 'background' || kind === 'add';
  return { ...plan, changes: plan.changes.filter((edit) => !isUsed(edit)) };
}

/**
 * Edits images. Input: `prompt`, the images of `image` or `image_urls`, and those of `aspect_ratio`, `resolution`,
 * `size`, `output_format` that the model takes (models/*.json).
 *
 * @throws {UndecodableMediaError} there is no image, or one cannot be read.
 * @throws {UnusableInputError} no letter of a quoted text can be drawn.
 */
export async function renderEdit(work: EngineWork): Promise<readonly RenderedFile[]> {
  const { input, seed, media, progress } = work;
  const prompt = typeof input['prompt'] === 'string' ? input['prompt'] : '';
  const images = await readImages(media, media.size > 1 ? LARGEST_OF_SEVERAL : LARGEST_EDGE);
  const [first, ...others] = images;
  if (first === undefined)
    throw new UndecodableMediaError('image_urls: no image', { kind: 'missing', field: 'image_urls' });
  progress(0.2);
  const random: Random = createRandom(hashText(`edit/${seed}/${prompt}`));
  const read = planEdits(prompt);
  requireLetterable(read.lettering);
  const plan = others.length > 0 ? afterJoining(read) : read;
  const base = createBase([first, ...others], plan, work);
  const framed = frame(base, plan.framing, random.fork('framing'));
  const size = sizeOf(work, others.length > 0 ? base : first, framed.view);
  const worked = fitPixels(size, 1, WORKED_PIXELS);
  const piece = new Workpiece(await fitTo(framed, worked, random), random);
  progress(0.4);
  applyPlan(piece, plan, others.length > 0, (share) => progress(0.4 + share * 0.4));
  piece.replace(await resized(piece.pixels, size.width, size.height));
  finish(piece, plan);
  progress(0.9);
  return [{ bytes: await encodeCanvas(canvasOf(piece.pixels), outputFormat(input['output_format'])) }];
}
