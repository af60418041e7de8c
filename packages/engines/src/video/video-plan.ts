/**
 * The plan of a video, before any of it is painted, and the input of the planners.
 */
import type { EngineMedia } from '../engine.ts';
import type { Random } from '@darkroom/seeded-random/random';
import type { Video } from './video-rendering.ts';
import type { VideoRequest } from './video-request.ts';
import type { VideoSize } from './video-size.ts';
import type { Overlay, Shot } from './shot.ts';
import type { TrackPlan } from './audio/track.ts';

/** The video, its audio track, and the encoding effort. */
export interface VideoPlan {
  readonly video: Video;
  /** Undefined: the video has no audio track. */
  readonly audio: TrackPlan | undefined;
  readonly isDraft: boolean;
}

/** Input of every planner. */
export interface PlanningContext {
  readonly request: VideoRequest;
  readonly media: EngineMedia;
  readonly random: Random;
  /** @param source the image or clip whose shape is kept unless another is requested. */
  readonly sizeFor: (source?: VideoSize) => VideoSize;
}

/** A video as its planner makes it; the properties that every kind of video shares come from the request. */
export function createPlan(
  { seconds, fps, isDraft }: VideoRequest,
  planned: {
    readonly size: VideoSize;
    readonly shots: readonly Shot[];
    readonly overlays: readonly Overlay[];
    /** Absent: the video has no audio track. */
    readonly audio?: TrackPlan | undefined;
  },
): VideoPlan {
  const { audio, ...parts } = planned;
  // Its duration, exact to a frame.
  const frames = Math.max(1, Math.round(seconds * fps));
  return { video: { ...parts, fps, frames }, audio, isDraft };
}
