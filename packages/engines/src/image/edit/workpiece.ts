/**
 * An image that is being edited: its pixels, and the results of its analysis, each computed once and used by several
 * edits: its subject, its sky, its light. Every edit changes the pixels in place or replaces them with a new image.
 */
import type { Canvas } from '@napi-rs/canvas';
import { toLab } from '../colour.ts';
import type { Pixels } from '../finish/pixels.ts';
import { measureFeatures } from '../analysis/image-features.ts';
import type { ImageFeatures } from '../analysis/image-features.ts';
import { canvasOf, pixelsIn } from '../analysis/input-images.ts';
import { mapPlane, planeOf, sharpened, smoothStep } from '../analysis/planes.ts';
import { boxBlur, lightPlane } from '../analysis/planes.ts';
import type { Plane } from '../analysis/planes.ts';
import { findSubject } from '../analysis/subject-mask.ts';
import type { SubjectMask } from '../analysis/subject-mask.ts';
import type { Random } from '@darkroom/seeded-random/random';

/** Below this clarity a guess of the subject is worse than the middle of the image. */
const VAGUE = 0.12;

/** Where the sky is, and how much of the image it covers. */
export interface SkyMask {
  readonly mask: Plane;
  /** 0 to 1. */
  readonly share: number;
  /** The lowest row that is mostly sky, as a share of the height. */
  readonly bottom: number;
}

export class Workpiece {
  readonly random: Random;
  /** Whether an edit has turned the image into night. */
  isNight = false;
  #pixels: Pixels;
  #facts: ImageFeatures | undefined;
  #subject: SubjectMask | undefined;
  #sky: SkyMask | undefined;

  constructor(pixels: Pixels, random: Random) {
    this.#pixels = pixels;
    this.random = random;
  }

  get pixels(): Pixels {
    return this.#pixels;
  }

  get width(): number {
    return this.#pixels.width;
  }

  get height(): number {
    return this.#pixels.height;
  }

  /** The facts of the image at the time of the first access. */
  get features(): ImageFeatures {
    this.#facts ??= measureFeatures(this.#pixels);
    return this.#facts;
  }

  /** The subject; an oval in the middle if none stands out. */
  get subject(): SubjectMask {
    this.#subject ??= clearSubject(this.#pixels);
    return this.#subject;
  }

  get sky(): SkyMask {
    this.#sky ??= findSky(this.#pixels);
    return this.#sky;
  }

  /** Computes everything that later edits need, while the image still has its own colours. */
  analyse(): void {
    void [this.features, this.subject, this.sky];
  }

  /** Replaces this image; the analysis is kept if the size is the same. */
  replace(pixels: Pixels): void {
    const isSameSize = pixels.width === this.width && pixels.height === this.height;
    this.#pixels = pixels;
    if (isSameSize) return;
    this.#facts = undefined;
    this.#subject = undefined;
    this.#sky = undefined;
  }

  /** Draws on the image with a canvas. */
  draw(paint: (canvas: Canvas) => void): void {
    const canvas = canvasOf(this.#pixels);
    paint(canvas);
    this.replace(pixelsIn(canvas));
  }
}

function clearSubject(pixels: Pixels): SubjectMask {
  const found = findSubject(pixels);
  if (found.clarity >= VAGUE) return found;
  const { width, height } = pixels;
  const mask = mapPlane(planeOf(width, height), (_, index) => {
    const [x, y] = [(index % width) / width - 0.5, Math.floor(index / width) / height - 0.52];
    return 1 - smoothStep(0.24, 0.42, Math.hypot(x * 0.9, y * 0.8));
  });
  return { mask, left: 0.2, right: 0.8, top: 0.15, bottom: 0.92, clarity: 0 };
}

/** Pixels of the longer side of the copy in which the sky is searched. */
const SEARCHED = 120;
/** The difference of neighbouring pixels, in OKLab, at which a sky ends. */
const STEP = 0.028;
/** The same relative to the mean of the first row. */
const DRIFT = 0.34;

/** Adds the light and grey areas enclosed by the sky: clouds have edges too. */
function addClouds(found: Float32Array, columns: number, labs: readonly (readonly [number, number, number])[]): void {
  const isCloud = (index: number): boolean => {
    const [light, greenRed, blueYellow] = labs[index] ?? [0, 0, 0];
    return light > 0.5 && Math.hypot(greenRed, blueYellow) < 0.07;
  };
  const seen = new Uint8Array(found.length);
  for (let start = 0; start < found.length; start++) {
    if (found[start] === 1 || seen[start] === 1) continue;
    const members = [start];
    seen[start] = 1;
    let [grey, isEnclosed] = [0, true];
    for (let next = 0; next < members.length; next++) {
      const index = members[next] ?? 0;
      const column = index % columns;
      if (isCloud(index)) grey += 1;
      if (index >= found.length - columns) isEnclosed = false;
      for (const other of [
        index - columns,
        index + columns,
        column > 0 ? index - 1 : -1,
        column < columns - 1 ? index + 1 : -1,
      ]) {
        if (other < 0 || other >= found.length || found[other] === 1 || seen[other] === 1) continue;
        seen[other] = 1;
        members.push(other);
      }
    }
    if (isEnclosed && grey > members.length * 0.7) for (const index of members) found[index] = 1;
  }
}

/** The area joined to the upper border without an edge that is neither dark ground nor a wall all the way down. */
function findSky(pixels: Pixels): SkyMask {
  const { width, height, data } = pixels;
  const share = Math.min(1, SEARCHED / Math.max(width, height));
  const [columns, rows] = [Math.max(2, Math.round(width * share)), Math.max(2, Math.round(height * share))];
  const labs = Array.from({ length: columns * rows }, (_, index) => {
    const x = Math.min(width - 1, Math.floor((((index % columns) + 0.5) * width) / columns));
    const y = Math.min(height - 1, Math.floor(((Math.floor(index / columns) + 0.5) * height) / rows));
    const position = (y * width + x) * 4;
    return toLab([data[position] ?? 0, data[position + 1] ?? 0, data[position + 2] ?? 0]);
  });
  const distance = (one: number, other: number): number => {
    const [a, b] = [labs[one], labs[other]];
    return a === undefined || b === undefined ? 1 : Math.hypot(a[0] - b[0], (a[1] - b[1]) * 2, (a[2] - b[2]) * 2);
  };
  const found = new Float32Array(columns * rows);
  const waiting: [index: number, start: number][] = [];
  for (let column = 0; column < columns; column++) {
    found[column] = 1;
    waiting.push([column, column]);
  }
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [index, start] = next;
    const column = index % columns;
    for (const other of [
      index + columns,
      index - columns,
      column > 0 ? index - 1 : -1,
      column < columns - 1 ? index + 1 : -1,
    ]) {
      if (other < 0 || other >= found.length || found[other] === 1) continue;
      if (distance(index, other) > STEP || distance(start, other) > DRIFT) continue;
      found[other] = 1;
      waiting.push([other, start]);
    }
  }
  addClouds(found, columns, labs);
  let [area, bottom] = [0, 0];
  for (let row = 0; row < rows; row++) {
    const many = found.subarray(row * columns, (row + 1) * columns).reduce((sum, value) => sum + value, 0);
    area += many;
    if (many > columns * 0.4) bottom = (row + 1) / rows;
  }
  const isSky = area / found.length > 0.05 && area / found.length < 0.86 && bottom < 0.95;
  const coarse = boxBlur({ width: columns, height: rows, values: isSky ? found : new Float32Array(found.length) }, 1);
  const fine = sharpened(coarse, lightPlane(pixels));
  return {
    mask: mapPlane(fine, (value) => smoothStep(0.35, 0.8, value)),
    share: isSky ? area / found.length : 0,
    bottom: isSky ? bottom : 0.5,
  };
}
