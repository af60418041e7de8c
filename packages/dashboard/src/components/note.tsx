/** A note in addition to the content of a page. Its colour shows how urgent it is; its text is fully black. */
import { Alert } from '@mantine/core';
import type { AlertProps } from '@mantine/core';

/** @param props.color grey if it is not a problem. */
export function Note({ color = 'gray', ...props }: AlertProps) {
  return <Alert color={color} styles={{ title: { color: 'var(--mantine-color-text)' } }} {...props} />;
}
