/**
 * Matches the patches of an image's missing part with existing patches, at one size of the image, by chance and
 * propagation (PatchMatch: Barnes et al., 2009), and votes on the missing pixels (Wexler et al., 2007).
 */
import type { Random } from '@darkroom/seeded-random/random';

/** Half a patch. */
const HALF = 3;

/** An image at one size. */
export interface Level {
  readonly width: number;
  readonly height: number;
  /** Three numbers per pixel. */
  readonly colours: Float32Array;
  /** 1 where pixels are missing. */
  readonly hole: Uint8Array;
}

/** The cost for a patch that comes from a whole width or height away: neighbouring parts stay neighbours. */
export interface Pull {
  readonly across: number;
  readonly down: number;
}

/** The source of each patch of a level, as the index of its middle; -1: there is nothing to match. */
export interface Matches {
  readonly matches: Int32Array;
  readonly width: number;
  readonly height: number;
}

/** Indexes whose whole patch exists. */
function findSources({ width, height, hole }: Level): Int32Array {
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

/** Matching and voting at one level; the missing pixels' colours are replaced in place. */
export class Matcher {
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
    this.#sources = findSources(level);
    this.#isSource = new Uint8Array(width * height);
    for (const source of this.#sources) this.#isSource[source] = 1;
    const targets: number[] = [];
    for (let index = 0; index < width * height; index++) if (touches(hole, width, height, index)) targets.push(index);
    this.#targets = Int32Array.from(targets);
    this.matches = new Int32Array(width * height).fill(-1);
    this.#costs = new Float32Array(width * height).fill(Infinity);
  }

  /** Whether there is any whole patch to copy. */
  get isPossible(): boolean {
    return this.#sources.length > 0;
  }

  /** Starts from the matches of a coarser level, or from chance. */
  begin(coarse: Matches | undefined): void {
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
    // The first content of the hole is the vote of the matches; at the coarsest level it is the level's own content.
    if (coarse !== undefined) this.#vote();
  }

  /** One round: better matches, then a better image. */
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

  /** The difference of two patches; the computation stops as soon as it exceeds the best. */
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

  /** Every missing pixel becomes the mean of the patches that cover it. */
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
          const position = at * width + to;
          if (hole[position] === 0) continue;
          const from = (match + row * width + column) * 3;
          for (let channel = 0; channel < 3; channel++) {
            sums[position * 4 + channel] =
              (sums[position * 4 + channel] ?? 0) + (colours[from + channel] ?? 0) * weight;
          }
          sums[position * 4 + 3] = (sums[position * 4 + 3] ?? 0) + weight;
        }
      }
    }
    for (let position = 0; position < width * height; position++) {
      const weight = sums[position * 4 + 3] ?? 0;
      if (hole[position] === 0 || weight === 0) continue;
      for (let channel = 0; channel < 3; channel++)
        colours[position * 3 + channel] = (sums[position * 4 + channel] ?? 0) / weight;
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
