/** Shows an output inline: an image, a video or audio, by its media type. */
import { Anchor, Image } from '@mantine/core';
import { downloadUrl } from './download-url.ts';

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
  return (
    <Anchor href={downloadUrl(url)} download>
      {alt}
    </Anchor>
  );
}
