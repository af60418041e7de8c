/**
 * A shot taken from a clip of the caller, in the colours of the video's look. A clip that is too short starts again
 * from its beginning.
 */
import type { Clip } from '@darkroom/media/decode';
import type { EngineMedia } from '../engine.ts';
import { framesWithField, readClip } from './input-media.ts';
import type { VideoSize } from './video-size.ts';
import { grade } from './raster/blending.ts';
import type { Look } from './raster/blending.ts';
import type { ShotPainter } from './shot.ts';

interface ClipPlan {
  /** Its path in the input: `reference_video_urls.0`. */
  readonly field: string;
  readonly startSeconds: number;
  readonly maxFrames: number;
  readonly look: Look | undefined;
}

/** Opens the clip; its frames are decoded on demand. @throws {UndecodableMediaError} */
export async function openClipShot(
  media: EngineMedia,
  plan: ClipPlan,
  size: VideoSize,
  fps: number,
): Promise<ShotPainter> {
  const { field, maxFrames, look } = plan;
  let clip: Clip | undefined;
  let frames: AsyncGenerator<Buffer, void> | undefined;
  const begin = async (startSeconds: number): Promise<void> => {
    await frames?.return();
    clip = await readClip(media, field, { ...size, fps, startSeconds, maxFrames });
    frames = framesWithField(field, clip);
  };
  await begin(plan.startSeconds);
  return {
    async paint(frame) {
      let next = await frames?.next();
      if (next?.done === true) {
        await begin(0);
        next = await frames?.next();
      }
      // A clip without a second frame leaves the frame as it is.
      if (next?.done === false) next.value.copy(frame.bytes);
      if (look !== undefined) grade(frame, look);
    },
    async close() {
      await frames?.return();
      await clip?.close();
    },
  };
}
