/** Saves an output as a file. */
import { Button } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import { texts } from '../texts/common.ts';
import { downloadUrl } from './download-url.ts';

export function DownloadButton(props: {
  /** As returned by the API. */
  readonly url: string;
  /** Which output, for screen readers, if there are several. */
  readonly label?: string | undefined;
}) {
  return (
    <Button
      component="a"
      href={downloadUrl(props.url)}
      download
      size="xs"
      variant="default"
      leftSection={<IconDownload size={14} aria-hidden />}
      aria-label={props.label}
    >
      {texts.download}
    </Button>
  );
}
