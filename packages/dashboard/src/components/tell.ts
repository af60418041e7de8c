/** Shows a notification in a corner of the page. Screen readers announce it, and its close button has a name. */
import { notifications } from '@mantine/notifications';
import type { ReactNode } from 'react';
import { texts } from '../texts/common.ts';

const closeButtonProps = { 'aria-label': texts.close };

export function tell(message: string): void {
  notifications.show({ message, closeButtonProps });
}

interface Problem {
  readonly title?: string;
  readonly message: ReactNode;
  /** Whether it stays until it is closed: for text that takes longer to read. */
  readonly isLong?: boolean;
}

export function tellProblem({ title, message, isLong = false }: Problem): void {
  notifications.show({
    color: 'red',
    message,
    closeButtonProps,
    ...(title === undefined ? {} : { title }),
    ...(isLong ? { autoClose: false } : {}),
  });
}
