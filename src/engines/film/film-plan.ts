/**
 * A film as it is planned, before anything of it is painted, and what the planners are given.
 */
import type { EngineMedia } from '../engine.ts';
import type { Random } from '../image/random.ts';
import type { Film } from './film-rendering.ts';
import type { FilmRequest } from './film-request.ts';
import type { FilmSize } from './film-size.ts';
import type { Overlay, Shot } from './shot.ts';
import type { TrackPlan } from './sound/track.ts';

/** The film, its sound, and how much care goes into encoding it. */
export interface FilmPlan {
  readonly film: Film;
  /** Undefined: the film has no sound track. */
  readonly sound: TrackPlan | undefined;
  readonly isDraft: boolean;
}

/** What every planner is given. */
export interface PlanningContext {
  readonly request: FilmRequest;
  readonly media: EngineMedia;
  readonly random: Random;
  /** @param source the picture or clip whose shape is kept where no other is asked for. */
  readonly sizeFor: (source?: FilmSize) => FilmSize;
}

/** A film as its planner makes it; what is the same for every kind of film comes from the request. */
export function planOf(
  { seconds, fps, isDraft }: FilmRequest,
  planned: {
    readonly size: FilmSize;
    readonly shots: readonly Shot[];
    readonly overlays: readonly Overlay[];
    /** Left out: the film has no sound track. */
    readonly sound?: TrackPlan | undefined;
  },
): FilmPlan {
  const { sound, ...parts } = planned;
  // Its duration, exact to a frame.
  const frames = Math.max(1, Math.round(seconds * fps));
  return { film: { ...parts, fps, frames }, sound, isDraft };
}
