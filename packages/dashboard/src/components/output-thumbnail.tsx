/** An output as a small square: its image, or an icon of its type. The surrounding component names it in text. */
import { Center, Image } from '@mantine/core';
import { IconFileText, IconMovie, IconMusic, IconPhoto } from '@tabler/icons-react';
import { useState } from 'react';

/** By the kind of a media type. */
const ICONS = { video: IconMovie, audio: IconMusic, text: IconFileText, application: IconFileText } as const;

interface OutputThumbnailProps {
  /** Undefined: there is no output yet. */
  readonly output: { readonly url: string; readonly mimeType: string } | undefined;
  /** In CSS pixels; `100%` fills the available width. */
  readonly size: number | '100%';
}

export function OutputThumbnail({ output, size }: OutputThumbnailProps) {
  const [brokenUrl, setBrokenUrl] = useState<string>();
  const mimeType = output?.mimeType ?? '';
  if (output !== undefined && mimeType.startsWith('image/') && output.url !== brokenUrl) {
    return (
      <Image
        src={output.url}
        alt=""
        w={size}
        style={{ aspectRatio: 1 }}
        fit="cover"
        radius="sm"
        loading="lazy"
        flex="none"
        onError={() => setBrokenUrl(output.url)}
      />
    );
  }
  const Icon = Object.entries(ICONS).find(([kind]) => mimeType.startsWith(`${kind}/`))?.[1] ?? IconPhoto;
  return (
    <Center w={size} style={{ aspectRatio: 1 }} flex="none" bg="var(--mantine-color-default-hover)" bdrs="sm">
      <Icon size={size === '100%' ? 32 : Math.round(size / 2.4)} aria-hidden />
    </Center>
  );
}
