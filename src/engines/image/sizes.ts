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
const ONE_MEGAPIXEL: Readonly<Record<string, readonly [width: number, height: number]>> = {
  '1:1': [1024, 1024],
  '3:2': [1248, 832],
  '2:3': [832, 1248],
  '4:3': [1152, 864],
  '3:4': [864, 1152],
  '4:5': [912, 1140],
  '16:9': [1344, 756],
  '9:16': [756, 1344],
  '21:9': [1554, 666],
};

const MULTIPLES: Readonly<Record<string, number>> = { '1k': 1, '2k': 2, '1K': 1, '2K': 2, '4K': 4 };

/**
 * The pixels for an input's `aspect_ratio` and `resolution`.
 *
 * @param fallbackRatio the model's default; an absent or unknown resolution is the first.
 */
export function pixelSize(aspectRatio: unknown, resolution: unknown, fallbackRatio: '1:1' | '2:3'): PixelSize {
  const ratio = typeof aspectRatio === 'string' ? ONE_MEGAPIXEL[aspectRatio] : undefined;
  const [width, height] = ratio ?? ONE_MEGAPIXEL[fallbackRatio] ?? [1024, 1024];
  const multiple = (typeof resolution === 'string' ? MULTIPLES[resolution] : undefined) ?? 1;
  return { width: width * multiple, height: height * multiple };
}
