/** Text with a copy button next to it, or a code block with one. */
import { ActionIcon, Box, Code, CopyButton, Group, Tooltip } from '@mantine/core';
import { IconCheck, IconCopy } from '@tabler/icons-react';
import { texts } from '../texts/common.ts';

/** @param what is the name for screen readers: “Copy the key”. */
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

/** The background of `Code`, for the surroundings of the text. */
const CODE_GROUND = 'light-dark(var(--mantine-color-gray-0), var(--mantine-color-dark-6))';

/** A code block that can be copied as a whole. Long lines scroll next to the button, never under it. */
export function CodeBlock({ code, label }: { readonly code: string; readonly label?: string }) {
  return (
    <Group wrap="nowrap" gap={0} align="flex-start" bg={CODE_GROUND} bdrs="sm">
      <Code
        block
        flex={1}
        miw={0}
        tabIndex={0}
        {...(label === undefined ? {} : { 'aria-label': label, role: 'region' })}
      >
        {code}
      </Code>
      <Box p={4} flex="none">
        <CopyIcon value={code} />
      </Box>
    </Group>
  );
}
