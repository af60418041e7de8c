/** What is known about a media file, as the inspection reports it. */
import type { MediaKind } from './media-types.ts';

/** What is known about a media file. Images always have a size; video and audio what their containers state. */
export interface MediaMetadata {
  /** Lower case, without parameters. */
  readonly mimeType: string;
  readonly kind: MediaKind;
  /** Without a dot. */
  readonly extension: string;
  readonly width?: number;
  readonly height?: number;
  readonly durationSeconds?: number;
  /** Whether nothing of it can be played, as of an MP4 whose index was cut off. */
  readonly isEmpty?: true;
}
