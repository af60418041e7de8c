/**
 * The media that the service makes, stores and serves: a closed list, because what is not on it is never handed out as
 * something a browser might run. One table, so that detection, file names and responses agree.
 */

/** `text` is that of transcripts; no file is detected as it. */
export type MediaKind = 'image' | 'video' | 'audio' | 'text';

interface MediaType {
  readonly kind: MediaKind;
  /** Without a dot. */
  readonly extension: string;
}

const MEDIA_TYPES: ReadonlyMap<string, MediaType> = new Map([
  ['image/png', { kind: 'image', extension: 'png' }],
  ['image/jpeg', { kind: 'image', extension: 'jpg' }],
  ['image/webp', { kind: 'image', extension: 'webp' }],
  ['image/gif', { kind: 'image', extension: 'gif' }],
  ['image/avif', { kind: 'image', extension: 'avif' }],
  ['video/mp4', { kind: 'video', extension: 'mp4' }],
  ['video/webm', { kind: 'video', extension: 'webm' }],
  ['video/quicktime', { kind: 'video', extension: 'mov' }],
  ['video/x-matroska', { kind: 'video', extension: 'mkv' }],
  ['audio/mpeg', { kind: 'audio', extension: 'mp3' }],
  ['audio/mp4', { kind: 'audio', extension: 'm4a' }],
  ['audio/wav', { kind: 'audio', extension: 'wav' }],
  ['audio/ogg', { kind: 'audio', extension: 'ogg' }],
  ['audio/flac', { kind: 'audio', extension: 'flac' }],
  ['audio/aac', { kind: 'audio', extension: 'aac' }],
  ['text/plain', { kind: 'text', extension: 'txt' }],
  ['application/json', { kind: 'text', extension: 'json' }],
  ['application/x-subrip', { kind: 'text', extension: 'srt' }],
  ['text/vtt', { kind: 'text', extension: 'vtt' }],
]);

/** What is known of a MIME type (lower case, no parameters); undefined for one that is not served. */
export function mediaTypeOf(mimeType: string): MediaType | undefined {
  return MEDIA_TYPES.get(mimeType);
}

/** The value of `Content-Type` for a MIME type. All text is UTF-8. */
export function contentTypeOf(mimeType: string): string {
  return MEDIA_TYPES.get(mimeType)?.kind === 'text' ? `${mimeType}; charset=utf-8` : mimeType;
}

/** The file name extension for a MIME type, without a dot; `bin` for a type that is not served as media. */
export function extensionFor(mimeType: string): string {
  return MEDIA_TYPES.get(mimeType)?.extension ?? 'bin';
}
