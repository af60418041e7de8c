/** Something to copy: a button beside it, or a block of code with one. */
import { ActionIcon, Box, Code, CopyButton, Tooltip } from '@mantine/core';
import { IconCheck, IconCopy } from '@tabler/icons-react';
import { texts } from '../texts/common.ts';

/** @param what names it to readers of the screen: “Copy the key”. */
export function CopyIcon({ value, what = texts.copy }: { readonly value: string; readonly what?: string }) {
  return (
    <CopyButton value={value}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? texts.copied : what}>
          <ActionIcon variant="subtle" color={copied ? 'teal' : 'gray'} onClick={copy} aria-label={what}>
            {copied ? <IconCheck size={16} /> : <IconCopy size={16} />}
          </ActionIcon>
        </Tooltip>
      )}
    </CopyButton>
  );
}

/** A block of code that can be copied whole. */
export function CodeBlock({ code, label }: { readonly code: string; readonly label?: string }) {
  return (
    <Box pos="relative">
      <Code block tabIndex={0} pr="xl" {...(label === undefined ? {} : { 'aria-label': label, role: 'region' })}>
        {code}
      </Code>
      <Box pos="absolute" top={4} right={4}>
        <CopyIcon value={code} />
      </Box>
    </Box>
  );
}
