/**
 * Renders the frames of a video one after the other and passes them to the encoder, which runs in a process of its own:
 * one frame is painted while the one before it is encoded. Holds three frames, whatever the video's length.
 */
import type { VideoWriter } from '@darkroom/media/encode';
import type { EngineWork } from '../engine.ts';
import type { VideoSize } from './video-size.ts';
import { dissolve } from './raster/blending.ts';
import { createFrame } from './raster/drawing.ts';
import type { Frame } from './raster/drawing.ts';
import type { Overlay, Shot, ShotPainter } from './shot.ts';

export interface Video {
  readonly size: VideoSize;
  readonly fps: number;
  readonly frames: number;
  /** In their order, without gaps, from 0 to the video's end. */
  readonly shots: readonly Shot[];
  readonly overlays: readonly Overlay[];
}

/** Progress is reported every so many frames. */
const PROGRESS_FRAMES = 6;

/** Paints the video's frames in their order, each into one of two buffers that take turns. */
export async function renderFrames(
  video: Video,
  take: (frame: Frame, index: number) => Promise<void>,
  pausePoint?: () => void,
): Promise<void> {
  const { size, fps, frames, shots, overlays } = video;
  const buffers = [createFrame(size.width, size.height), createFrame(size.width, size.height)] as const;
  let spare: Frame | undefined;
  const open = new Map<Shot, ShotPainter>();
  let taking = Promise.resolve();
  try {
    for (let index = 0; index < frames; index++) {
      const seconds = index / fps;
      const frame = buffers[index % 2 === 0 ? 0 : 1];
      const seen = shots.filter((shot, shotIndex) => {
        const after = shots[shotIndex + 1];
        const end = after === undefined ? Infinity : after.from + after.dissolveSeconds;
        return seconds >= shot.from && seconds < end;
      });
      for (const [shot, painter] of open) {
        if (seen.includes(shot)) continue;
        open.delete(shot);
        await painter.close?.();
      }
      for (const [layer, shot] of seen.entries()) {
        let painter = open.get(shot);
        if (painter === undefined) open.set(shot, (painter = await shot.open()));
        const time = {
          seconds: seconds - shot.from,
          share: Math.min(1, (seconds - shot.from) / (shot.to - shot.from)),
          videoShare: index / Math.max(1, frames - 1),
        };
        if (layer === 0) {
          await painter.paint(frame, time);
          continue;
        }
        spare ??= createFrame(size.width, size.height);
        await painter.paint(spare, time);
        const share = (seconds - shot.from + 1 / fps) / shot.dissolveSeconds;
        dissolve(frame, spare, share * share * (3 - 2 * share));
      }
      for (const overlay of overlays) overlay(frame, seconds);
      await taking;
      // No other process is being waited for at this moment, so none can time out during the pause.
      pausePoint?.();
      taking = take(frame, index);
      // Awaited one frame later.
      taking.catch(() => {});
    }
    await taking;
  } finally {
    for (const painter of open.values()) await painter.close?.();
  }
}

/** Renders a video into an encoder. */
export async function encodeVideo(
  video: Video,
  writer: VideoWriter,
  { progress, pausePoint }: Pick<EngineWork, 'progress' | 'pausePoint'>,
): Promise<void> {
  try {
    const take = async ({ bytes }: Frame, index: number): Promise<void> => {
      await writer.write(bytes);
      if (index % PROGRESS_FRAMES === 0) progress(index / video.frames);
    };
    await renderFrames(video, take, pausePoint);
    await writer.finish();
  } catch (error) {
    await writer.abort();
    throw error;
  }
}
