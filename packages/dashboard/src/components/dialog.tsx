/**
 * A dialog with its title. Mantine's own dialog header is a `<header>`, which outside of a section is a second banner
 * of the page for screen readers: this one has none.
 */
import { Group, Modal } from '@mantine/core';
import type { MantineSize } from '@mantine/core';
import type { ReactNode } from 'react';
import { texts } from '../texts/common.ts';

interface DialogProps {
  readonly isOpen: boolean;
  readonly title: string;
  /** Default: that of Mantine. */
  readonly size?: MantineSize | (string & {});
  /** Whether the dialog has a close button next to its title, true by default; not needed if a button inside closes it. */
  readonly hasCloseButton?: boolean;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

export function Dialog({ isOpen, title, size = 'md', hasCloseButton = true, onClose, children }: DialogProps) {
  return (
    <Modal.Root opened={isOpen} onClose={onClose} size={size} centered>
      <Modal.Overlay />
      <Modal.Content>
        <Modal.Body pt="md">
          <Group justify="space-between" align="flex-start" wrap="nowrap" mb="md">
            <Modal.Title fw={600}>{title}</Modal.Title>
            {hasCloseButton ? <Modal.CloseButton aria-label={texts.close} /> : null}
          </Group>
          {children}
        </Modal.Body>
      </Modal.Content>
    </Modal.Root>
  );
}
