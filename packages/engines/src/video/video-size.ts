/**
 * The size of a video (spec §2.5): `resolution` names its shorter side, `aspect_ratio` its shape. Both sides are even,
 * as H.264 requires.
 */

/** Width and height in pixels. */
export interface VideoSize {
  readonly width: number;
  readonly height: number;
}

const SHORTER_SIDES: Readonly<Record<string, number>> = { '480p': 480, '720p': 720, '1080p': 1080, '4k': 2160 };
/** Of the model that has no `resolution`. */
const FIXED_SIDE = 768;
/** The largest side that the encoder takes. */
const LONGEST_SIDE = 4096;
/** The shapes that a video can take from an image lie within 21:9 and 9:21. */
const WIDEST = 21 / 9;

function even(length: number): number {
  return Math.max(2, Math.round(length / 2) * 2);
}

function shapeOf(aspectRatio: unknown): number | undefined {
  const found = typeof aspectRatio === 'string' ? /^(\d+):(\d+)$/.exec(aspectRatio) : null;
  return found === null ? undefined : Number(found[1]) / Number(found[2]);
}

/**
 * The pixels of a video.
 *
 * @param source the image or clip that the video begins with: its shape is kept if no `aspect_ratio` is requested.
 * @param isDraft half the size.
 */
export function videoSize(
  input: { readonly aspect_ratio?: unknown; readonly resolution?: unknown },
  source: VideoSize | undefined,
  isDraft: boolean,
): VideoSize {
  const ofSource = source === undefined ? undefined : source.width / source.height;
  const wanted = shapeOf(input.aspect_ratio) ?? ofSource ?? 16 / 9;
  const shape = Math.max(1 / WIDEST, Math.min(WIDEST, wanted));
  const named = typeof input.resolution === 'string' ? SHORTER_SIDES[input.resolution] : undefined;
  const side = (named ?? FIXED_SIDE) * (isDraft ? 0.5 : 1);
  const [width, height] = shape >= 1 ? [side * shape, side] : [side, side / shape];
  // 21:9 at 4k would be 5040 wide: scaled down to fit, with its shape kept.
  const fit = Math.min(1, LONGEST_SIDE / Math.max(width, height));
  return { width: even(width * fit), height: even(height * fit) };
}
