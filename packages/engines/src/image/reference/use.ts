/**
 * How the reference images of a scene are used: the form in which they appear depends on the words of the prompt, on
 * how many there are, and on whether an image has one clear subject.
 */
import type { Canvas } from '@napi-rs/canvas';
import { css } from '../colour.ts';
import type { Composition } from '../composition.ts';
import type { Pixels } from '../finish/pixels.ts';
import { coverCrop, cutOut } from '../analysis/cut-out.ts';
import type { CutOut } from '../analysis/cut-out.ts';
import { measureFeatures } from '../analysis/image-features.ts';
import type { ImageFeatures } from '../analysis/image-features.ts';
import { canvasOf } from '../analysis/input-images.ts';
import { inOnePiece, isFace } from '../analysis/one-piece.ts';
import { findSubject } from '../analysis/subject-mask.ts';
import type { Stage } from '../stage.ts';
import { drawBillboard, drawEasel, drawOnWall, drawPrints } from './props.ts';
import { drawCutOut } from './standing.ts';

/** Read once for all images of a task. */
export interface References {
  /** From the first image: it gives the colours, the light and the layout. */
  readonly features: ImageFeatures;
  readonly images: readonly [Canvas, ...Canvas[]];
  readonly subject: CutOut | undefined;
}

type Form = 'backdrop' | 'billboard' | 'easel' | 'prints' | 'wall' | 'cut-out';

/** The clarity from which a subject can be cut out without damage. */
const CLEAR_SUBJECT = 0.3;

const WORDS: readonly (readonly [Form, RegExp])[] = [
  ['backdrop', /\b(backdrop|background|behind|distance|view of)\b/i],
  ['billboard', /\b(billboard|screen|poster|advert\w*|sign|hoarding)\b/i],
  ['prints', /\b(prints?|polaroids?|photos?|photographs?|snapshots?|memories|pictures|collage)\b/i],
  ['easel', /\b(easel|painting|painted|canvas|framed?|gallery|exhibition|portrait of)\b/i],
];

/** Analyses the references; undefined if there are none. */
export function readReferences(images: readonly Pixels[]): References | undefined {
  const [first, ...others] = images;
  if (first === undefined) return undefined;
  const subject = others.length > 0 ? undefined : inOnePiece(first, findSubject(first));
  return {
    features: measureFeatures(first),
    images: [canvasOf(first), ...others.map(canvasOf)],
    subject:
      subject !== undefined && subject.clarity >= CLEAR_SUBJECT && !isFace(first, subject)
        ? cutOut(first, subject)
        : undefined,
  };
}

function formOf(references: References, composition: Composition, scenery: string): Form {
  const named = WORDS.find(([, words]) => words.test(scenery))?.[0];
  const isIndoors = ['room', 'table', 'portrait'].includes(composition.setting);
  if (isIndoors) return named === 'backdrop' || named === undefined || named === 'prints' ? 'wall' : named;
  if (references.images.length > 1) return 'prints';
  if (named !== undefined) return named;
  if (references.subject !== undefined) return 'cut-out';
  return composition.ground === 'street' || composition.mentions.has('city') ? 'billboard' : 'easel';
}

/** The image as the far part of the scene; undefined if it appears in another form. */
export function backdropOf(
  references: References,
  composition: Composition,
  scenery: string,
): ((stage: Stage) => void) | undefined {
  if (formOf(references, composition, scenery) !== 'backdrop') return undefined;
  const [image] = references.images;
  return ({ context, width, horizon, palette }) => {
    const tall = horizon + 8;
    const { left, top, width: across, height: down } = coverCrop(image, width / tall);
    context.drawImage(image, left, top, across, down, 0, 0, width, tall);
    const haze = context.createLinearGradient(0, horizon * 0.72, 0, tall);
    haze.addColorStop(0, css(palette.haze, 0));
    haze.addColorStop(1, css(palette.haze, 0.55));
    context.fillStyle = haze;
    context.fillRect(0, horizon * 0.72, width, tall - horizon * 0.72);
  };
}

/** Puts the references into a painted scene. */
export function drawReferences(stage: Stage, references: References, composition: Composition, scenery: string): void {
  const { width, height, random } = stage;
  const [image] = references.images;
  const chance = random.fork('references');
  const tall = Math.min(height, width * 1.1);
  const foot = { x: width * chance.pick([0.3, 0.7]), y: height * 0.955 };
  switch (formOf(references, composition, scenery)) {
    case 'backdrop':
      return;
    case 'billboard':
      return drawBillboard(stage, image, foot, tall * 0.62);
    case 'easel':
      return drawEasel(stage, image, foot, tall * 0.6);
    case 'wall':
      for (const [index, canvas] of references.images.slice(0, 5).entries()) {
        const share = (index + 0.5) / Math.min(5, references.images.length);
        const x = references.images.length === 1 ? width * 0.3 : width * (0.08 + 0.84 * share);
        drawOnWall(stage, canvas, { x, y: height * 0.24 }, tall * (references.images.length > 2 ? 0.17 : 0.26));
      }
      return;
    case 'prints':
      return drawPrints(stage, references.images);
    case 'cut-out':
      if (references.subject !== undefined)
        drawCutOut(stage, references.subject, { foot, tall: tall * 0.5, ground: composition.ground });
  }
}
