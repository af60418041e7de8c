/** What is said of a stranger's file that cannot be read. */

/** A file is no picture, sound or film that can be decoded within bounds. The message says why, and names no path. */
export class UndecodableMediaError extends Error {
  override readonly name = 'UndecodableMediaError';
}
