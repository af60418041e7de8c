/** Something that should be known beside what a page is about: its colour says how urgent it is, its words are in full black. */
import { Alert } from '@mantine/core';
import type { AlertProps } from '@mantine/core';

/** @param props.color grey where it is no trouble. */
export function Note({ color = 'gray', ...props }: AlertProps) {
  return <Alert color={color} styles={{ title: { color: 'var(--mantine-color-text)' } }} {...props} />;
}
