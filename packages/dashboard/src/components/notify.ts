/** Shows a notification in a corner of the page. Screen readers announce it, and its close button has a name. */
import { notifications } from '@mantine/notifications';
import type { ReactNode } from 'react';
import { texts } from '../texts/common.ts';

const closeButtonProps = { 'aria-label': texts.close };

export function notify(message: string): void {
  notifications.show({ message, closeButtonProps });
}

interface ErrorNotification {
  readonly title?: string;
  readonly message: ReactNode;
  /** Whether it stays until it is closed: for text that takes longer to read. */
  readonly isLong?: boolean;
}

export function notifyError({ title, message, isLong = false }: ErrorNotification): void {
  notifications.show({
    color: 'red',
    message,
    closeButtonProps,
    ...(title === undefined ? {} : { title }),
    ...(isLong ? { autoClose: false } : {}),
  });
}
