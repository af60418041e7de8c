/** What is known about a media file, as the inspection reports it. */
import type { MediaKind } from './media-types.ts';

/** What is known about a media file. Images always have a size. */
export interface MediaMetadata {
  /** Lower case, without parameters: of what is in the file, not of its container. */
  readonly mimeType: string;
  readonly kind: MediaKind;
  /** Without a dot. */
  readonly extension: string;
  /** In pixels, upright, as a viewer shows it. */
  readonly width?: number;
  readonly height?: number;
  /** Measured, to the millisecond; absent: it cannot be. */
  readonly durationSeconds?: number;
  /** Of its audio. */
  readonly channels?: number;
  /** Whether nothing of it can be played, as of an MP4 whose index was cut off. */
  readonly isEmpty?: true;
}
