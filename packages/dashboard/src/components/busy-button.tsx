/**
 * A button that shows when it is busy. Mantine's own `loading` disables it meanwhile, and a disabled button loses the
 * focus; this one keeps it, and ignores presses until it is done.
 */
import { Button, Loader } from '@mantine/core';
import type { ButtonProps } from '@mantine/core';
import type { ComponentPropsWithRef } from 'react';

type BusyButtonProps = Omit<ButtonProps, 'loading' | 'loaderProps'> &
  Omit<ComponentPropsWithRef<'button'>, keyof ButtonProps> & { readonly isBusy: boolean };

export function BusyButton({ isBusy, leftSection, onClick, ...props }: BusyButtonProps) {
  return (
    <Button
      {...props}
      aria-disabled={isBusy}
      leftSection={isBusy ? <Loader size={14} color="currentColor" aria-hidden /> : leftSection}
      onClick={(event) => {
        // Also if the form was submitted with the Enter key.
        if (isBusy) event.preventDefault();
        else onClick?.(event);
      }}
    />
  );
}
