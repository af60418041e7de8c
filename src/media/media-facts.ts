/** What is known of a file of media, as the inspection tells it. */
import type { MediaKind } from '../objects/media-types.ts';

/** What is known of a media file. Images always have a size; films and sounds what their containers tell. */
export interface MediaFacts {
  /** Lower case, without parameters. */
  readonly mimeType: string;
  readonly kind: MediaKind;
  /** Without a dot. */
  readonly extension: string;
  readonly width?: number;
  readonly height?: number;
  readonly durationSeconds?: number;
  /** Nothing of it can be played: what is left of an MP4 whose index was cut off. */
  readonly isEmpty?: true;
}
