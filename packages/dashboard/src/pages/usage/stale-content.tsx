/**
 * Keeps showing the previous result until the new one has arrived: marked visually and for screen readers as outdated.
 */
import { Box, VisuallyHidden } from '@mantine/core';
import type { ReactNode } from 'react';

export function StaleContent(props: {
  /** Whether the shown result belongs to an earlier request. */
  readonly isStale: boolean;
  /** Announced while it is stale. */
  readonly words: string;
  readonly children: ReactNode;
}) {
  const { isStale, words, children } = props;
  return (
    <>
      <VisuallyHidden role="status">{isStale ? words : ''}</VisuallyHidden>
      <Box aria-busy={isStale} style={isStale ? { opacity: 0.45 } : undefined}>
        {children}
      </Box>
    </>
  );
}
