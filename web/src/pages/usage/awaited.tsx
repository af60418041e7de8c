/** What was asked for before stays until the answer to what is asked now is there: seen and told to be none of it. */
import { Box, VisuallyHidden } from '@mantine/core';
import type { ReactNode } from 'react';

export function Awaited(props: {
  /** Whether what is shown answers an earlier question. */
  readonly isStale: boolean;
  /** Said while it is. */
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
