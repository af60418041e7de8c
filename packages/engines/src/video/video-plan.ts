/**
 * The plan of a video, before any of it is painted, and the input of the planners.
 */
import type { EngineMedia } from '../engine.ts';
import type { Random } from '@darkroom/seeded-random/random';
import type { Film } from './video-rendering.ts';
import type { FilmRequest } from './video-request.ts';
import type { FilmSize } from './video-size.ts';
import type { Overlay, Shot } from './shot.ts';
import type { TrackPlan } from './audio/track.ts';

/** The video, its audio track, and the encoding effort. */
export interface FilmPlan {
  readonly film: Film;
  /** Undefined: the video has no audio track. */
  readonly sound: TrackPlan | undefined;
  readonly isDraft: boolean;
}

/** Input of every planner. */
export interface PlanningContext {
  readonly request: FilmRequest;
  readonly media: EngineMedia;
  readonly random: Random;
  /** @param source the image or clip whose shape is kept unless another is requested. */
  readonly sizeFor: (source?: FilmSize) => FilmSize;
}

/** A video as its planner makes it; the properties that every kind of video shares come from the request. */
export function planOf(
  { seconds, fps, isDraft }: FilmRequest,
  planned: {
    readonly size: FilmSize;
    readonly shots: readonly Shot[];
    readonly overlays: readonly Overlay[];
    /** Absent: the video has no audio track. */
    readonly sound?: TrackPlan | undefined;
  },
): FilmPlan {
  const { sound, ...parts } = planned;
  // Its duration, exact to a frame.
  const frames = Math.max(1, Math.round(seconds * fps));
  return { film: { ...parts, fps, frames }, sound, isDraft };
}
