/**
 * All genres by name.
 */
import type { Genre } from './genre.ts';
import { BAND_GENRES } from './genres-band.ts';
import { FLOOR_GENRES } from './genres-floor.ts';
import { HALL_GENRES } from './genres-hall.ts';
import { WORLD_GENRES } from './genres-world.ts';
import type { GenreName } from './prompt-lexicon.ts';

const GENRES: Readonly<Record<GenreName, Genre>> = { ...BAND_GENRES, ...FLOOR_GENRES, ...HALL_GENRES, ...WORLD_GENRES };

export function genreNamed(name: GenreName): Genre {
  return GENRES[name];
}
