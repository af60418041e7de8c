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
  ['image/heic', { kind: 'image', extension: 'heic' }],
  ['image/heif', { kind: 'image', extension: 'heif' }],
  ['video/mp4', { kind: 'video', extension: 'mp4' }],
  ['video/webm', { kind: 'video', extension: 'webm' }],
  ['video/quicktime', { kind: 'video', extension: 'mov' }],
  ['video/x-matroska', { kind: 'video', extension: 'mkv' }],
  ['audio/mpeg', { kind: 'audio', extension: 'mp3' }],
  ['audio/mp4', { kind: 'audio', extension: 'm4a' }],
  ['audio/webm', { kind: 'audio', extension: 'webm' }],
  ['audio/x-matroska', { kind: 'audio', extension: 'mka' }],
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

/** The types of containers with audio only, as recorders of speech write them. */
const AUDIO_TYPES: ReadonlyMap<string, string> = new Map([
  ['video/mp4', 'audio/mp4'],
  ['video/quicktime', 'audio/mp4'],
  ['video/webm', 'audio/webm'],
  ['video/x-matroska', 'audio/x-matroska'],
]);

/** The type of a container of video if its audio alone counts; undefined: it is no such container. */
export function audioTypeOf(mimeType: string): string | undefined {
  return AUDIO_TYPES.get(mimeType);
}

/** Whether it is a photograph of a phone, which is converted to JPEG: hardly a provider or a browser reads it. */
export function isPhonePhotograph(mimeType: string): boolean {
  return mimeType === 'image/heic' || mimeType === 'image/heif';
}

/** Types whose length is counted in their frames or samples. Others state the times of what they hold. */
const COUNTED_TYPES: ReadonlySet<string> = new Set(['audio/mpeg', 'audio/aac', 'audio/flac', 'audio/wav']);

/** Whether the length of a file of this type is counted, so that it cannot be misstated. */
export function isCounted(mimeType: string): boolean {
  return COUNTED_TYPES.has(mimeType);
}

/** The value of `Content-Type` for a MIME type. All text is UTF-8. */
export function contentTypeOf(mimeType: string): string {
  return MEDIA_TYPES.get(mimeType)?.kind === 'text' ? `${mimeType}; charset=utf-8` : mimeType;
}

/** The file name extension for a MIME type, without a dot; `bin` for a type that is not served as media. */
export function extensionFor(mimeType: string): string {
  return MEDIA_TYPES.get(mimeType)?.extension ?? 'bin';
}
