/**
 * Completes a picture where something was taken out of it, with patches of what is there. Patches are matched by chance and propagation (PatchMatch: Barnes et al., 2009) and voted upon
 * from coarse to fine (Wexler et al., 2007); the last step copies pixels of full size from where the patches came from.
 */
import { createCanvas } from '@napi-rs/canvas';
import type { Pixels } from '../finish/pixels.ts';
import { canvasOf, pixelsIn } from '../picture/given.ts';
import { boxBlur } from '../picture/planes.ts';
import type { SubjectMask } from '../picture/subject-mask.ts';
import type { Random } from '../random.ts';

/** Pixels of the longer side at which patches are still matched: finer, they are copied. Few where it is blurred after. */
const MATCHED = { sharp: 280, soft: 130 } as const;
/** And at which matching begins. */
const COARSEST = 40;
/** Half a patch. */
const HALF = 3;
/** Rounds of matching and voting at a level, the coarsest first. */
const ROUNDS = [10, 6, 4, 3, 2] as const;

interface Level {
  readonly width: number;
  readonly height: number;
  /** Three numbers a pixel. */
  readonly colours: Float32Array;
  /** 1 where pixels are missing. */
  readonly hole: Uint8Array;
}

/** What it costs a patch to come from a whole width or height away: what is beside goes on beside. */
interface Pull {
  readonly across: number;
  readonly down: number;
}

/** What is missing. */
interface Gap {
  /** 1 where a pixel is missing; what the pixels are there is the first guess. */
  readonly hole: Uint8Array;
  readonly pull: Pull;
}

function levelOf(pixels: Pixels, gap: Gap, width: number, height: number): Level {
  const { hole } = gap;
  const small = createCanvas(width, height);
  const context = small.getContext('2d');
  context.imageSmoothingQuality = 'high';
  context.drawImage(canvasOf(pixels), 0, 0, width, height);
  const { data } = pixelsIn(small);
  const colours = new Float32Array(width * height * 3);
  const holes = new Uint8Array(width * height);
  for (let index = 0; index < width * height; index++) {
    for (let channel = 0; channel < 3; channel++) colours[index * 3 + channel] = data[index * 4 + channel] ?? 0;
    holes[index] = isIn(hole, pixels, index, width, height) ? 1 : 0;
  }
  return { width, height, colours, hole: holes };
}

/** Whether any pixel below a place of a level is marked. */
function isIn(marks: Uint8Array, pixels: Pixels, index: number, width: number, height: number): boolean {
  const [column, row] = [index % width, Math.floor(index / width)];
  const [left, top] = [Math.floor((column * pixels.width) / width), Math.floor((row * pixels.height) / height)];
  const right = Math.max(left + 1, Math.ceil(((column + 1) * pixels.width) / width));
  const bottom = Math.max(top + 1, Math.ceil(((row + 1) * pixels.height) / height));
  for (let y = top; y < bottom; y++) {
    for (let x = left; x < right; x++) if (marks[y * pixels.width + x] === 1) return true;
  }
  return false;
}

/** Places whose whole patch is there. */
function sourcesOf({ width, height, hole }: Level): Int32Array {
  const counts = new Int32Array((width + 1) * (height + 1));
  for (let row = 0; row < height; row++) {
    for (let column = 0; column < width; column++) {
      counts[(row + 1) * (width + 1) + column + 1] =
        (hole[row * width + column] ?? 0) +
        (counts[row * (width + 1) + column + 1] ?? 0) +
        (counts[(row + 1) * (width + 1) + column] ?? 0) -
        (counts[row * (width + 1) + column] ?? 0);
    }
  }
  const found: number[] = [];
  for (let row = HALF; row < height - HALF; row++) {
    for (let column = HALF; column < width - HALF; column++) {
      const sum =
        (counts[(row + HALF + 1) * (width + 1) + column + HALF + 1] ?? 0) -
        (counts[(row - HALF) * (width + 1) + column + HALF + 1] ?? 0) -
        (counts[(row + HALF + 1) * (width + 1) + column - HALF] ?? 0) +
        (counts[(row - HALF) * (width + 1) + column - HALF] ?? 0);
      if (sum === 0) found.push(row * width + column);
    }
  }
  return Int32Array.from(found);
}

/** Matching and voting at one level. */
class Matcher {
  readonly matches: Int32Array;
  readonly #level: Level;
  readonly #sources: Int32Array;
  readonly #isSource: Uint8Array;
  readonly #targets: Int32Array;
  readonly #costs: Float32Array;
  readonly #random: Random;
  readonly #pull: Pull;

  constructor(level: Level, random: Random, pull: Pull) {
    const { width, height, hole } = level;
    this.#level = level;
    this.#random = random;
    this.#pull = pull;
    this.#sources = sourcesOf(level);
    this.#isSource = new Uint8Array(width * height);
    for (const source of this.#sources) this.#isSource[source] = 1;
    const targets: number[] = [];
    for (let index = 0; index < width * height; index++) if (touches(hole, width, height, index)) targets.push(index);
    this.#targets = Int32Array.from(targets);
    this.matches = new Int32Array(width * height).fill(-1);
    this.#costs = new Float32Array(width * height).fill(Infinity);
  }

  get isPossible(): boolean {
    return this.#sources.length > 0;
  }

  /** Starts from the matches of a coarser level, or from chance. */
  begin(coarse: { readonly matches: Int32Array; readonly width: number; readonly height: number } | undefined): void {
    const { width, height } = this.#level;
    for (const target of this.#targets) {
      let match = -1;
      if (coarse !== undefined) {
        const [column, row] = [target % width, Math.floor(target / width)];
        const [scaleX, scaleY] = [width / coarse.width, height / coarse.height];
        const [x, y] = [
          Math.min(coarse.width - 1, Math.floor(column / scaleX)),
          Math.min(coarse.height - 1, Math.floor(row / scaleY)),
        ];
        const above = coarse.matches[y * coarse.width + x] ?? -1;
        if (above >= 0) {
          const fromX = Math.round(((above % coarse.width) - x) * scaleX) + column;
          const fromY = Math.round((Math.floor(above / coarse.width) - y) * scaleY) + row;
          const candidate = fromY * width + fromX;
          if (fromX >= 0 && fromX < width && this.#isSource[candidate] === 1) match = candidate;
        }
      }
      this.matches[target] = match < 0 ? this.#anywhere() : match;
    }
    // The first picture of the hole is what the matches bring; at the coarsest it is what the level shows already.
    if (coarse !== undefined) this.#vote();
  }

  /** One round: better matches, then a better picture. */
  round(): void {
    for (const target of this.#targets) this.#costs[target] = this.#cost(target, this.matches[target] ?? 0, Infinity);
    for (const direction of [1, -1]) this.#sweep(direction);
    this.#vote();
  }

  #anywhere(): number {
    return this.#sources[Math.floor(this.#random.next() * this.#sources.length)] ?? 0;
  }

  #sweep(direction: number): void {
    const { width, height } = this.#level;
    const targets = this.#targets;
    for (let step = 0; step < targets.length; step++) {
      const target = targets[direction > 0 ? step : targets.length - 1 - step] ?? 0;
      for (const shift of [direction, direction * width]) {
        const beside = target - shift;
        if (beside < 0 || beside >= this.matches.length) continue;
        const match = this.matches[beside] ?? -1;
        if (match >= 0) this.#offer(target, match + shift);
      }
      const best = this.matches[target] ?? 0;
      for (let reach = Math.max(width, height); reach >= 1; reach /= 2) {
        const x = (best % width) + Math.round((this.#random.next() * 2 - 1) * reach);
        const y = Math.floor(best / width) + Math.round((this.#random.next() * 2 - 1) * reach);
        if (x >= 0 && x < width && y >= 0 && y < height) this.#offer(target, y * width + x);
      }
    }
  }

  #offer(target: number, candidate: number): void {
    if (this.#isSource[candidate] !== 1) return;
    const best = this.#costs[target] ?? Infinity;
    const cost = this.#cost(target, candidate, best);
    if (cost >= best) return;
    this.#costs[target] = cost;
    this.matches[target] = candidate;
  }

  /** The difference of two patches; given up as soon as it is over the best. */
  #cost(target: number, candidate: number, best: number): number {
    const { width, height, colours } = this.#level;
    const [x, y] = [target % width, Math.floor(target / width)];
    const [fromX, fromY] = [candidate % width, Math.floor(candidate / width)];
    const [across, down] = [(x - fromX) / width, (y - fromY) / height];
    let sum = across * across * this.#pull.across + down * down * this.#pull.down;
    for (let row = -HALF; row <= HALF; row++) {
      const at = y + row;
      if (at < 0 || at >= height) continue;
      for (let column = -HALF; column <= HALF; column++) {
        const to = x + column;
        if (to < 0 || to >= width) continue;
        const one = (at * width + to) * 3;
        const other = ((fromY + row) * width + fromX + column) * 3;
        const red = (colours[one] ?? 0) - (colours[other] ?? 0);
        const green = (colours[one + 1] ?? 0) - (colours[other + 1] ?? 0);
        const blue = (colours[one + 2] ?? 0) - (colours[other + 2] ?? 0);
        sum += red * red + green * green + blue * blue;
      }
      if (sum > best) return Infinity;
    }
    return sum;
  }

  /** Every missing pixel becomes the mean of what the patches that cover it bring. */
  #vote(): void {
    const { width, height, colours, hole } = this.#level;
    const sums = new Float32Array(width * height * 4);
    for (const target of this.#targets) {
      const match = this.matches[target] ?? 0;
      const cost = this.#costs[target] ?? Infinity;
      const weight = Number.isFinite(cost) ? 1 / (60 + cost / 49) : 0.01;
      const [x, y] = [target % width, Math.floor(target / width)];
      for (let row = -HALF; row <= HALF; row++) {
        const at = y + row;
        if (at < 0 || at >= height) continue;
        for (let column = -HALF; column <= HALF; column++) {
          const to = x + column;
          if (to < 0 || to >= width) continue;
          const place = at * width + to;
          if (hole[place] === 0) continue;
          const from = (match + row * width + column) * 3;
          for (let channel = 0; channel < 3; channel++) {
            sums[place * 4 + channel] = (sums[place * 4 + channel] ?? 0) + (colours[from + channel] ?? 0) * weight;
          }
          sums[place * 4 + 3] = (sums[place * 4 + 3] ?? 0) + weight;
        }
      }
    }
    for (let place = 0; place < width * height; place++) {
      const weight = sums[place * 4 + 3] ?? 0;
      if (hole[place] === 0 || weight === 0) continue;
      for (let channel = 0; channel < 3; channel++)
        colours[place * 3 + channel] = (sums[place * 4 + channel] ?? 0) / weight;
    }
  }
}

function touches(hole: Uint8Array, width: number, height: number, index: number): boolean {
  const [x, y] = [index % width, Math.floor(index / width)];
  for (let row = Math.max(0, y - HALF); row <= Math.min(height - 1, y + HALF); row++) {
    for (let column = Math.max(0, x - HALF); column <= Math.min(width - 1, x + HALF); column++) {
      if (hole[row * width + column] === 1) return true;
    }
  }
  return false;
}

/** Takes the subject out of a picture, in place, and fills it with what is around it. */
export function fillSubject(
  pixels: Pixels,
  subject: SubjectMask,
  random: Random,
  look: 'sharp' | 'soft' = 'sharp',
): void {
  const { width, height } = pixels;
  const wide = boxBlur(subject.mask, Math.max(2, Math.round(Math.max(width, height) / 70)));
  const hole = Uint8Array.from(wide.values, (value) => (value > 0.06 ? 1 : 0));
  complete(pixels, { hole, pull: { across: 20_000, down: 400_000 } }, random, MATCHED[look]);
}

/** Fills what is missing, in place. */
function complete(pixels: Pixels, gap: Gap, random: Random, matched: number): void {
  const longest = Math.max(pixels.width, pixels.height);
  const sizes: number[] = [Math.min(matched, longest)];
  while ((sizes[0] ?? 0) > COARSEST * 1.6) sizes.unshift(Math.round((sizes[0] ?? 0) / 1.65));
  let before: { readonly matches: Int32Array; readonly width: number; readonly height: number } | undefined;
  let finest: Level | undefined;
  for (const [index, size] of sizes.entries()) {
    const share = size / longest;
    const width = Math.max(2, Math.round(pixels.width * share));
    const height = Math.max(2, Math.round(pixels.height * share));
    const level = levelOf(pixels, gap, width, height);
    const matcher = new Matcher(level, random.fork(`level ${index}`), gap.pull);
    if (!matcher.isPossible) continue;
    matcher.begin(before);
    for (let round = 0; round < (ROUNDS[index] ?? 2); round++) matcher.round();
    before = { matches: matcher.matches, width, height };
    finest = level;
  }
  if (before !== undefined && finest !== undefined) copyBack(pixels, gap.hole, before, finest);
}

/** Pixels of full size from where the patches came from, drawn towards the colours that were voted. */
function copyBack(
  pixels: Pixels,
  hole: Uint8Array,
  { matches, width, height }: { readonly matches: Int32Array; readonly width: number; readonly height: number },
  { colours }: Level,
): void {
  const { data } = pixels;
  const source = Uint8ClampedArray.from(data);
  const [scaleX, scaleY] = [pixels.width / width, pixels.height / height];
  for (let row = 0; row < pixels.height; row++) {
    for (let column = 0; column < pixels.width; column++) {
      const index = row * pixels.width + column;
      if (hole[index] !== 1) continue;
      const [x, y] = [(column + 0.5) / scaleX - 0.5, (row + 0.5) / scaleY - 0.5];
      const [left, top] = [Math.floor(x), Math.floor(y)];
      let [red, green, blue, total] = [0, 0, 0, 0];
      for (let corner = 0; corner < 4; corner++) {
        const toX = Math.max(0, Math.min(width - 1, left + (corner & 1)));
        const toY = Math.max(0, Math.min(height - 1, top + (corner >> 1)));
        const place = toY * width + toX;
        const match = matches[place] ?? -1;
        const weight = Math.abs(1 - (corner & 1) - (x - left)) * Math.abs(1 - (corner >> 1) - (y - top)) + 0.001;
        let [fromRed, fromGreen, fromBlue] = [
          colours[place * 3] ?? 0,
          colours[place * 3 + 1] ?? 0,
          colours[place * 3 + 2] ?? 0,
        ];
        if (match >= 0) {
          const fromX = Math.max(0, Math.min(pixels.width - 1, Math.round(((match % width) - toX) * scaleX) + column));
          const fromY = Math.max(
            0,
            Math.min(pixels.height - 1, Math.round((Math.floor(match / width) - toY) * scaleY) + row),
          );
          const from = (fromY * pixels.width + fromX) * 4;
          // A grain of the source's colour about the voted one, so that no seam is a step of brightness.
          const tone = match * 3;
          fromRed += ((source[from] ?? 0) - (colours[tone] ?? 0)) * 0.85;
          fromGreen += ((source[from + 1] ?? 0) - (colours[tone + 1] ?? 0)) * 0.85;
          fromBlue += ((source[from + 2] ?? 0) - (colours[tone + 2] ?? 0)) * 0.85;
        }
        red += fromRed * weight;
        green += fromGreen * weight;
        blue += fromBlue * weight;
        total += weight;
      }
      data[index * 4] = red / total;
      data[index * 4 + 1] = green / total;
      data[index * 4 + 2] = blue / total;
      data[index * 4 + 3] = 255;
    }
  }
}
