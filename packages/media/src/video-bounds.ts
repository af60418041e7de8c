/** The bounds of a video: known on both sides of a media child, and without loading the codec library. */

/**
 * The longest video or audio file that is opened, in seconds; the models' own bounds are below it (spec §2.5: 1 to
 * 300).
 */
export const MAX_SECONDS = 600;
/** The longest edge of a video, in pixels. */
export const MAX_VIDEO_EDGE = 4096;
