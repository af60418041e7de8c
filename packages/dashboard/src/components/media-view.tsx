/** Shows an output inline: an image, a video, audio or text, by its media type. */
import { Anchor, Image } from '@mantine/core';
import { downloadUrl } from './download-url.ts';
import { TextView } from './text-view.tsx';

/** The files of a transcript. */
const TEXT_TYPES: ReadonlySet<string> = new Set(['text/plain', 'text/vtt', 'application/json', 'application/x-subrip']);

export interface Media {
  readonly url: string;
  readonly mimeType: string;
  readonly width?: number | undefined;
  readonly height?: number | undefined;
}

/** @param alt description for users who cannot see it. */
export function MediaView({ media, alt }: { readonly media: Media; readonly alt: string }) {
  const { url, mimeType } = media;
  if (mimeType.startsWith('image/'))
    return <Image src={url} alt={alt} radius="sm" fit="contain" mah="70vh" w="auto" maw="100%" />;
  if (mimeType.startsWith('video/')) {
    return (
      <Image
        component="video"
        src={url}
        aria-label={alt}
        controls
        loop
        playsInline
        preload="metadata"
        radius="sm"
        mah="70vh"
        w="auto"
        maw="100%"
      />
    );
  }
  if (mimeType.startsWith('audio/')) return <audio src={url} aria-label={alt} controls preload="metadata" />;
  if (TEXT_TYPES.has(mimeType)) return <TextView url={url} alt={alt} />;
  return (
    <Anchor href={downloadUrl(url)} download>
      {alt}
    </Anchor>
  );
}
