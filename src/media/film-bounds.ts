/** What a film may be at most: known on both sides of a media child, and without loading the codec library. */

/** The longest film or sound that is opened, in seconds; the models' own bounds are below it (spec §2.5: 1 to 300). */
export const MAX_SECONDS = 600;
/** The longest edge of a film, in pixels. */
export const MAX_FILM_EDGE = 4096;
