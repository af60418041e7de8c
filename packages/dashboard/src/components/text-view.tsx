/** The beginning of a text file, in a box that scrolls. */
import { Anchor, Code, ScrollArea, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { texts } from '../texts/common.ts';
import { downloadUrl } from './download-url.ts';

/** In bytes; the rest is in the file. */
const SHOWN_BYTES = 64 * 1024;

/** @param alt description for users who cannot see it. */
export function TextView({ url, alt }: { readonly url: string; readonly alt: string }) {
  const { data, error } = useQuery({
    queryKey: ['text-file', url],
    queryFn: async ({ signal }) => readBeginning(url, signal),
    staleTime: Infinity,
    retry: false,
  });
  // A store of its own may not let pages read its files.
  if (error !== null) {
    return (
      <Anchor href={downloadUrl(url)} download>
        {alt}
      </Anchor>
    );
  }
  if (data === undefined) return <Skeleton h={120} aria-label={texts.loading} />;
  return (
    <ScrollArea.Autosize mah="16rem" w="100%" viewportProps={{ tabIndex: 0, role: 'region', 'aria-label': alt }}>
      <Code block style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
        {data}
      </Code>
    </ScrollArea.Autosize>
  );
}

async function readBeginning(url: string, signal: AbortSignal): Promise<string> {
  const response = await fetch(url, {
    signal,
    credentials: 'omit',
    headers: { Range: `bytes=0-${SHOWN_BYTES - 1}` },
  });
  if (!response.ok) throw new Error(`status ${response.status}`);
  return new TextDecoder().decode(await response.arrayBuffer(), { stream: true });
}
