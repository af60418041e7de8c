/**
 * The images that archiving makes of a video: those that contract §3 lists as `first_frame`, `last_frame` and
 * `thumbnail`.
 */
import { jpegsAt } from './decode.ts';
import type { Jpeg } from './decode.ts';
import { MAX_VIDEO_EDGE } from './video-bounds.ts';

/** The longest edge of a thumbnail, in pixels: sharp in a list on any screen, some 50 kB. */
const THUMBNAIL_EDGE = 512;

/** The images that belong to a video. */
export interface DerivedFrames {
  readonly first: Jpeg;
  readonly last: Jpeg;
  /** At most 512 pixels on its long edge, from a third of the video: the first frame is often a fade from black. */
  readonly thumbnail: Jpeg;
}

/**
 * Makes the images of a video, decoding it in a child process (decode.ts).
 *
 * @throws {UndecodableMediaError} it is not a readable video.
 * @throws {DOMException} `AbortError` when the signal fires.
 */
export async function deriveFrames(
  path: string,
  { signal }: { readonly signal?: AbortSignal } = {},
): Promise<DerivedFrames> {
  const stills = [
    { moment: 'first', maxEdge: MAX_VIDEO_EDGE },
    { moment: 'last', maxEdge: MAX_VIDEO_EDGE },
    { moment: { fraction: 1 / 3 }, maxEdge: THUMBNAIL_EDGE },
  ] as const;
  const [first, last, thumbnail] = await jpegsAt(path, stills, signal);
  if (first === undefined || last === undefined || thumbnail === undefined)
    throw new Error('the child sent too few frames');
  return { first, last, thumbnail };
}
