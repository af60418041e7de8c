/**
 * Divides an image into areas of about equal size that follow its edges (SLIC: Achanta et al., 2012), and triangulates
 * points that are denser on edges (Delaunay, by Bowyer and Watson, 1981).
 */
import type { Random } from '@darkroom/seeded-random/random';
import type { Point } from '../stage.ts';
import type { Pixels } from './pixels.ts';

/** The index of the area of each pixel of a small copy, and the colour of each area. */
export interface Segments {
  readonly width: number;
  readonly height: number;
  readonly labels: Int32Array;
  /** Three numbers per area. */
  readonly colours: Float32Array;
}

const ROUNDS = 6;
/** How much a distance of one side of an area weighs against a difference of colour, 0 to 255. */
const COMPACT = 17;

/** Areas of about `side` pixels in each direction. */
export function segmentsOf({ width, height, data }: Pixels, side: number): Segments {
  const [columns, rows] = [Math.max(1, Math.round(width / side)), Math.max(1, Math.round(height / side))];
  const count = columns * rows;
  const centres = new Float32Array(count * 5);
  for (let index = 0; index < count; index++) {
    const x = (((index % columns) + 0.5) * width) / columns;
    const y = ((Math.floor(index / columns) + 0.5) * height) / rows;
    const position = (Math.floor(y) * width + Math.floor(x)) * 4;
    centres.set([data[position] ?? 0, data[position + 1] ?? 0, data[position + 2] ?? 0, x, y], index * 5);
  }
  const labels = new Int32Array(width * height);
  const distances = new Float32Array(width * height);
  const weight = (COMPACT / side) ** 2;
  for (let round = 0; round < ROUNDS; round++) {
    distances.fill(Infinity);
    for (let index = 0; index < count; index++) claim(index);
    settle();
  }
  return {
    width,
    height,
    labels,
    colours: Float32Array.from(
      { length: count * 3 },
      (_, index) => centres[Math.floor(index / 3) * 5 + (index % 3)] ?? 0,
    ),
  };

  function claim(index: number): void {
    const [red = 0, green = 0, blue = 0, x = 0, y = 0] = centres.subarray(index * 5, index * 5 + 5);
    const [left, right] = [Math.max(0, Math.floor(x - side * 1.3)), Math.min(width - 1, Math.ceil(x + side * 1.3))];
    const [top, bottom] = [Math.max(0, Math.floor(y - side * 1.3)), Math.min(height - 1, Math.ceil(y + side * 1.3))];
    for (let row = top; row <= bottom; row++) {
      for (let column = left; column <= right; column++) {
        const position = row * width + column;
        const from = position * 4;
        const colour =
          ((data[from] ?? 0) - red) ** 2 + ((data[from + 1] ?? 0) - green) ** 2 + ((data[from + 2] ?? 0) - blue) ** 2;
        const far = colour + ((column - x) ** 2 + (row - y) ** 2) * weight;
        if (far >= (distances[position] ?? 0)) continue;
        distances[position] = far;
        labels[position] = index;
      }
    }
  }

  function settle(): void {
    const sums = new Float64Array(count * 6);
    for (let position = 0; position < labels.length; position++) {
      const to = (labels[position] ?? 0) * 6;
      const parts = [
        data[position * 4] ?? 0,
        data[position * 4 + 1] ?? 0,
        data[position * 4 + 2] ?? 0,
        position % width,
        Math.floor(position / width),
        1,
      ];
      for (let part = 0; part < 6; part++) sums[to + part] = (sums[to + part] ?? 0) + (parts[part] ?? 0);
    }
    for (let index = 0; index < count; index++) {
      const many = sums[index * 6 + 5] ?? 0;
      if (many === 0) continue;
      for (let part = 0; part < 5; part++) centres[index * 5 + part] = (sums[index * 6 + part] ?? 0) / many;
    }
  }
}

interface Triangle {
  readonly corners: readonly [number, number, number];
  readonly x: number;
  readonly y: number;
  readonly radius: number;
}

function around(points: readonly Point[], a: number, b: number, c: number): Triangle {
  const [one, two, three] = [points[a], points[b], points[c]];
  if (one === undefined || two === undefined || three === undefined) throw new RangeError('no such corner');
  const [bx, by, cx, cy] = [two.x - one.x, two.y - one.y, three.x - one.x, three.y - one.y];
  const twice = 2 * (bx * cy - by * cx) || 1e-9;
  const [bb, cc] = [bx * bx + by * by, cx * cx + cy * cy];
  const [x, y] = [(cy * bb - by * cc) / twice, (bx * cc - cx * bb) / twice];
  return { corners: [a, b, c], x: one.x + x, y: one.y + y, radius: x * x + y * y };
}

/** The triangles between points of a width and height. Points go from left to right: triangles behind are final. */
export function trianglesOf(
  given: readonly Point[],
  width: number,
  height: number,
): readonly (readonly [Point, Point, Point])[] {
  const points = given.toSorted((one, other) => one.x - other.x);
  const count = points.length;
  const far = Math.max(width, height) * 8;
  const all = [...points, { x: -far, y: -far }, { x: far * 2, y: -far }, { x: width / 2, y: far * 2 }];
  let open = [around(all, count, count + 1, count + 2)];
  const settled: Triangle[] = [];
  for (let index = 0; index < count; index++) {
    const { x, y } = all[index] ?? { x: 0, y: 0 };
    const edges = new Map<string, [number, number]>();
    const still: Triangle[] = [];
    for (const triangle of open) {
      const away = x - triangle.x;
      if (away > 0 && away * away > triangle.radius) {
        settled.push(triangle);
        continue;
      }
      if (away * away + (y - triangle.y) ** 2 > triangle.radius) {
        still.push(triangle);
        continue;
      }
      const [a, b, c] = triangle.corners;
      for (const [from, to] of [
        [a, b],
        [b, c],
        [c, a],
      ] as const) {
        const key = from < to ? `${from} ${to}` : `${to} ${from}`;
        if (edges.has(key)) edges.delete(key);
        else edges.set(key, [from, to]);
      }
    }
    open = still;
    for (const [from, to] of edges.values()) open.push(around(all, from, to, index));
  }
  return [...settled, ...open].flatMap(({ corners }) => {
    if (corners.some((corner) => corner >= count)) return [];
    const [a, b, c] = corners.map((corner) => points[corner] ?? { x: 0, y: 0 });
    return a === undefined || b === undefined || c === undefined ? [] : [[a, b, c] as const];
  });
}

/** Points over an image, about `spacing` units apart, denser where its light changes; corners and borders included. */
export function pointsOn(
  light: (x: number, y: number) => number,
  size: { readonly width: number; readonly height: number },
  spacing: number,
  random: Random,
): Point[] {
  const { width, height } = size;
  const points: Point[] = [];
  const [columns, rows] = [Math.ceil(width / spacing), Math.ceil(height / spacing)];
  const edge = (x: number, y: number): number =>
    Math.abs(light(x + 2, y) - light(x - 2, y)) + Math.abs(light(x, y + 2) - light(x, y - 2));
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      // Of several points of a cell the one with the strongest edge; cells without an edge only keep some.
      let best = { x: 0, y: 0, strength: -1 };
      for (let tried = 0; tried < 9; tried++) {
        const position = {
          x: ((column + random.next()) / columns) * width,
          y: ((row + random.next()) / rows) * height,
        };
        const strength = edge(position.x, position.y);
        if (strength > best.strength) best = { ...position, strength };
      }
      if (best.strength > 7 || (column + row) % 2 === 0) points.push({ x: best.x, y: best.y });
      if (best.strength > 40) {
        const near = {
          x: best.x + random.between(-0.4, 0.4) * spacing,
          y: best.y + random.between(-0.4, 0.4) * spacing,
        };
        points.push({ x: Math.max(1, Math.min(width - 1, near.x)), y: Math.max(1, Math.min(height - 1, near.y)) });
      }
    }
  }
  for (let step = 0; step <= columns; step += 1)
    points.push({ x: (step / columns) * width, y: 0 }, { x: (step / columns) * width, y: height });
  for (let step = 1; step < rows; step += 1)
    points.push({ x: 0, y: (step / rows) * height }, { x: width, y: (step / rows) * height });
  return points;
}
