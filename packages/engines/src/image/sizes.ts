/**
 * The exact pixels of every aspect ratio and resolution (spec §2.5): about one megapixel at the first resolution, the
 * ratio kept exactly, both sides even, and whole multiples of that above it. The models' schemas repeat the table in
 * their descriptions; a test compares it with what is rendered.
 */

/** Width and height in pixels. */
export interface PixelSize {
  readonly width: number;
  readonly height: number;
}

/** At the first resolution of each model. */
const ONE_MEGAPIXEL = {
  '1:1': [1024, 1024],
  '3:2': [1248, 832],
  '2:3': [832, 1248],
  '4:3': [1152, 864],
  '3:4': [864, 1152],
  '5:4': [1140, 912],
  '4:5': [912, 1140],
  '16:9': [1344, 756],
  '9:16': [756, 1344],
  '21:9': [1554, 666],
  '2:1': [1448, 724],
  '20:9': [1520, 684],
  '9:20': [684, 1520],
  '19.5:9': [1508, 696],
  '8:1': [2896, 362],
  '1:8': [362, 2896],
} as const satisfies Readonly<Record<string, readonly [width: number, height: number]>>;

/** A shape that can be requested by name. */
export type AspectRatio = keyof typeof ONE_MEGAPIXEL;

const MULTIPLES: Readonly<Record<string, number>> = { '1k': 1, '2k': 2, '1K': 1, '2K': 2, '4K': 4 };
const MEGAPIXEL = 1024 * 1024;

function isAspectRatio(value: unknown): value is AspectRatio {
  return typeof value === 'string' && Object.hasOwn(ONE_MEGAPIXEL, value);
}

function multipleOf(resolution: unknown): number {
  return (typeof resolution === 'string' ? MULTIPLES[resolution] : undefined) ?? 1;
}

/**
 * The pixels for an input's `aspect_ratio` and `resolution`.
 *
 * @param fallbackRatio the ratio used if the requested one is absent or has no pixels of its own, like `auto`; an
 * absent or unknown resolution means the first.
 */
export function pixelSize(aspectRatio: unknown, resolution: unknown, fallbackRatio: AspectRatio): PixelSize {
  const [width, height] = ONE_MEGAPIXEL[isAspectRatio(aspectRatio) ? aspectRatio : fallbackRatio];
  const multiple = multipleOf(resolution);
  return { width: width * multiple, height: height * multiple };
}

/** The pixels of a `size`, as `1536x1024`; undefined if it is not a size. Sides are 16 to 4096. */
export function namedSize(size: unknown): PixelSize | undefined {
  const found = typeof size === 'string' ? /^(\d{2,4})x(\d{2,4})$/.exec(size) : null;
  const [width, height] = [Number(found?.[1]), Number(found?.[2])];
  const isBounded = [width, height].every((side) => side >= 16 && side <= 4096);
  return found !== null && isBounded ? { width, height } : undefined;
}

function even(length: number): number {
  return Math.max(2, Math.round(length / 2) * 2);
}

/** `match_input_image`: the area of a resolution in the shape of an image; both sides even, the shape within 8:1. */
export function matchingSize(image: PixelSize, resolution: unknown): PixelSize {
  const shape = Math.max(1 / 8, Math.min(8, image.width / image.height));
  const height = Math.sqrt(MEGAPIXEL / shape) * multipleOf(resolution);
  return { width: even(height * shape), height: even(height) };
}

/** The shape of a list that is closest to another. */
export function nearestRatio(image: PixelSize, ratios: readonly [AspectRatio, ...AspectRatio[]]): AspectRatio {
  const wanted = Math.log(image.width / image.height);
  const distance = (ratio: AspectRatio): number => {
    const [width, height] = ONE_MEGAPIXEL[ratio];
    return Math.abs(Math.log(width / height) - wanted);
  };
  return ratios.reduce((best, ratio) => (distance(ratio) < distance(best) ? ratio : best));
}
