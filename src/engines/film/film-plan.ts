/**
 * A film as it is planned, before anything of it is painted, and what the planners are given.
 */
import type { EngineMedia } from '../engine.ts';
import type { Random } from '../image/random.ts';
import type { Film } from './film-rendering.ts';
import type { FilmRequest } from './film-request.ts';
import type { FilmSize } from './film-size.ts';
import type { TrackPlan } from './sound/track.ts';

export interface FilmPlan {
  readonly film: Film;
  /** Undefined: the film has no sound track. */
  readonly sound: TrackPlan | undefined;
  readonly isDraft: boolean;
}

export interface PlanningContext {
  readonly request: FilmRequest;
  readonly media: EngineMedia;
  readonly random: Random;
  /** @param source the picture or clip whose shape is kept where no other is asked for. */
  readonly sizeFor: (source?: FilmSize) => FilmSize;
}

/** How many frames a film has: its duration, exact to a frame. */
export function frameCount({ seconds, fps }: Pick<FilmRequest, 'seconds' | 'fps'>): number {
  return Math.max(1, Math.round(seconds * fps));
}
