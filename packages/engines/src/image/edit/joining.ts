/**
 * Several images joined into one: a collage, side by side, one blended into the other, the colours of one on the other,
 * the subject of one in the other. The prompt decides which.
 */
import { createCanvas } from '@napi-rs/canvas';
import type { Canvas } from '@napi-rs/canvas';
import { css, hex } from '../colour.ts';
import type { Pixels } from '../finish/pixels.ts';
import { coverCrop, cutOut } from '../analysis/cut-out.ts';
import { canvasOf, pixelsIn } from '../analysis/input-images.ts';
import { smoothStep } from '../analysis/planes.ts';
import { findSubject } from '../analysis/subject-mask.ts';
import type { PixelSize } from '../sizes.ts';
import { transferColours } from './colour-transfer.ts';

export type Joining = 'collage' | 'beside' | 'stacked' | 'blend' | 'colours' | 'insert';

const WORDS: readonly (readonly [Joining, RegExp])[] = [
  ['stacked', /\b(stack(?:ed)?|one above the other|on top of each other|above and below|vertical diptych)\b/],
  [
    'beside',
    /\b(side by side|diptych|triptych|before and after|next to each other|split screen|compare|comparison|half and half)\b/,
  ],
  ['collage', /\b(collage|grid|mosaic|mood ?board|scrapbook|contact sheet|montage|photo wall|album)\b/],
  ['blend', /\b(blend|merge|double exposure|mix|fuse|combine|overlay|dissolve|cross-?fade|superimpose)\b/],
  [
    'colours',
    /\b(style|palette|colou?rs|look|mood|tones?|grading|atmosphere|lighting) (?:of|from|like)\b|\bmatch\b|\bstyle transfer\b|\blike the (second|other|last)\b/,
  ],
  [
    'insert',
    /\b(put|place|insert|add|set|paste|drop|move|bring|sit|stand)\b.*\b(in|into|on|onto|to|with|beside|next to|before|inside)\b/,
  ],
];

/** How several images are joined; a collage if the prompt does not say. */
export function joiningOf(words: string): Joining {
  return WORDS.find(([, pattern]) => pattern.test(words))?.[0] ?? 'collage';
}

/** Whether the request puts the second image first: `put the second into the first`. */
function isTurnedRound(words: string): boolean {
  const second = words.search(/\b(second|2nd|image 2|picture 2|photo 2|other|last)\b/);
  const first = words.search(/\b(first|1st|image 1|picture 1|photo 1)\b/);
  return second >= 0 && first > second;
}

function drawCovering(canvas: Canvas, image: Canvas, x: number, y: number, width: number, height: number): void {
  const context = canvas.getContext('2d');
  const part = coverCrop(image, width / height);
  context.imageSmoothingQuality = 'high';
  context.drawImage(image, part.left, part.top, part.width, part.height, x, y, width, height);
}

/** Rows of images on paper; all rows are equally full. */
function collage(images: readonly Canvas[], size: PixelSize): Pixels {
  const canvas = createCanvas(size.width, size.height);
  const context = canvas.getContext('2d');
  context.fillStyle = css(hex('#f7f4ee'));
  context.fillRect(0, 0, size.width, size.height);
  const gap = Math.round(Math.sqrt(size.width * size.height) * 0.014);
  const shape = size.width / size.height;
  const rows = Math.max(1, Math.min(images.length, Math.round(Math.sqrt(images.length / shape))));
  const tall = (size.height - gap * (rows + 1)) / rows;
  let next = 0;
  for (let row = 0; row < rows; row++) {
    const count = Math.ceil((images.length - next) / (rows - row));
    const some = images.slice(next, next + count);
    next += count;
    // Wider images get more of their row.
    const shares = some.map((image) => Math.max(0.6, Math.min(1.7, image.width / image.height)));
    const total = shares.reduce((sum, share) => sum + share, 0);
    let x = gap;
    for (const [index, image] of some.entries()) {
      const wide = (size.width - gap * (some.length + 1)) * ((shares[index] ?? 1) / total);
      drawCovering(canvas, image, x, gap + row * (tall + gap), wide, tall);
      x += wide + gap;
    }
  }
  return pixelsIn(canvas);
}

function beside(images: readonly Canvas[], size: PixelSize, isStacked: boolean): Pixels {
  const canvas = createCanvas(size.width, size.height);
  const context = canvas.getContext('2d');
  context.fillStyle = css(hex('#f7f4ee'));
  context.fillRect(0, 0, size.width, size.height);
  const gap = Math.max(2, Math.round(Math.sqrt(size.width * size.height) * 0.008));
  const many = images.length;
  for (const [index, image] of images.entries()) {
    const wide = isStacked ? size.width : (size.width - gap * (many - 1)) / many;
    const tall = isStacked ? (size.height - gap * (many - 1)) / many : size.height;
    drawCovering(canvas, image, isStacked ? 0 : index * (wide + gap), isStacked ? index * (tall + gap) : 0, wide, tall);
  }
  return pixelsIn(canvas);
}

function covering(image: Canvas, size: PixelSize): Pixels {
  const canvas = createCanvas(size.width, size.height);
  drawCovering(canvas, image, 0, 0, size.width, size.height);
  return pixelsIn(canvas);
}

/** A double exposure: the second shows in the silhouette of the first; without one, both blend into each other. */
function blend(images: readonly Canvas[], size: PixelSize): Pixels {
  const [first, ...others] = images.map((image) => covering(image, size));
  if (first === undefined) throw new RangeError('nothing to blend');
  const subject = findSubject(first);
  let result = first;
  for (const [step, other] of others.entries()) {
    const isSilhouette = subject.clarity > 0.15 && step === 0;
    const data = Uint8ClampedArray.from(result.data);
    for (let index = 0; index < size.width * size.height; index++) {
      const x = (index % size.width) / size.width;
      const inside = subject.mask.values[index] ?? 0;
      const part = (step + 1) / images.length;
      const share = isSilhouette ? 0.84 - inside * 0.42 : 0.18 + 0.64 * smoothStep(part - 0.34, part + 0.34, x);
      for (let channel = 0; channel < 3; channel++) {
        const position = index * 4 + channel;
        const [one, two] = [data[position] ?? 0, other.data[position] ?? 0];
        const plain = one * (1 - share) + two * share;
        // Some of the light parts of either shine through, as on film that was exposed twice.
        const screen = 255 - ((255 - one * 0.8) * (255 - two * 0.8)) / 255;
        data[position] = 118 + (plain * 0.72 + screen * 0.28 - 118) * 1.12;
      }
    }
    result = { ...size, data };
  }
  return result;
}

/** The subject of the first in the second, in its light; framed if no subject stands out. */
function insert(first: Canvas, second: Canvas, size: PixelSize): Pixels {
  const ground = covering(second, size);
  const canvas = canvasOf(ground);
  const context = canvas.getContext('2d');
  const source = pixelsIn(first);
  const subject = findSubject(source);
  const other = findSubject(ground);
  const isLeftFree = other.clarity > 0.2 && (other.left + other.right) / 2 > 0.5;
  const x = size.width * (other.clarity > 0.2 ? (isLeftFree ? 0.28 : 0.72) : 0.5);
  context.imageSmoothingQuality = 'high';
  if (subject.clarity < 0.16) {
    const wide = size.width * 0.36;
    const tall = (wide * first.height) / first.width;
    context.shadowColor = 'rgba(0, 0, 0, 0.5)';
    context.shadowBlur = wide * 0.06;
    context.fillStyle = css(hex('#fbf8f0'));
    context.fillRect(x - wide * 0.53, size.height * 0.5 - tall * 0.53, wide * 1.06, tall + wide * 0.06);
    context.shadowBlur = 0;
    context.drawImage(first, x - wide / 2, size.height * 0.5 - tall * 0.53 + wide * 0.03, wide, tall);
    return pixelsIn(canvas);
  }
  transferColours(source, ground, 0.3);
  const cut = cutOut(source, subject);
  const scale = Math.min((size.height * 0.62) / cut.canvas.height, (size.width * 0.58) / cut.canvas.width);
  const [wide, tall] = [cut.canvas.width * scale, cut.canvas.height * scale];
  const foot = cut.isCutBelow ? size.height : size.height * 0.93;
  if (!cut.isCutBelow) {
    context.save();
    context.translate(x, foot - tall * 0.02);
    context.scale(1, 0.15);
    const shadow = context.createRadialGradient(0, 0, wide * 0.1, 0, 0, wide * 0.56);
    shadow.addColorStop(0, 'rgba(0, 0, 0, 0.5)');
    shadow.addColorStop(1, 'rgba(0, 0, 0, 0)');
    context.fillStyle = shadow;
    context.fillRect(-wide, -wide, wide * 2, wide * 2);
    context.restore();
  }
  context.drawImage(cut.canvas, x - wide / 2, foot - tall, wide, tall);
  return pixelsIn(canvas);
}

/** Joins images into one of a given size. */
export function join(images: readonly Pixels[], joining: Joining, words: string, size: PixelSize): Pixels {
  const canvases = images.map(canvasOf);
  const [one, two] = isTurnedRound(words) ? [canvases[1], canvases[0]] : [canvases[0], canvases[1]];
  if (one === undefined || two === undefined) throw new RangeError('two images at least');
  switch (joining) {
    case 'collage':
      return collage(canvases, size);
    case 'beside':
    case 'stacked':
      return beside(canvases, size, joining === 'stacked');
    case 'blend':
      return blend(canvases, size);
    case 'insert':
      return insert(one, two, size);
    case 'colours': {
      // `the colours of the second on the first`: the one named first gives its colours, if both are named.
      const [first, second] = [canvases[0] ?? one, canvases[1] ?? two];
      const result = covering(first, size);
      transferColours(result, pixelsIn(second), 0.92);
      return result;
    }
  }
}

/** The default shape of a way to join. */
export function shapeOf(images: readonly PixelSize[], joining: Joining): PixelSize {
  const [first = { width: 1, height: 1 }, second = first] = images;
  const shapes = images.map(({ width, height }) => Math.max(0.6, Math.min(1.8, width / height)));
  const sum = shapes.reduce((total, shape) => total + shape, 0);
  switch (joining) {
    case 'beside':
      return { width: Math.min(3, sum) * 1000, height: 1000 };
    case 'stacked':
      return {
        width: 1000,
        height:
          Math.min(
            2.4,
            shapes.reduce((total, shape) => total + 1 / shape, 0),
          ) * 1000,
      };
    case 'collage':
      return images.length === 2 ? { width: Math.min(2.4, sum) * 1000, height: 1000 } : { width: 4, height: 3 };
    case 'insert':
      return second;
    case 'blend':
    case 'colours':
      return first;
  }
}
