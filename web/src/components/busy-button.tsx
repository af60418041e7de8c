/**
 * A button that says when it is at work. Mantine's own `loading` disables it meanwhile, and what is disabled loses the
 * keyboard; this one keeps it, and does nothing more until it is done.
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
        // Also where the form that it sends was sent by the key Enter.
        if (isBusy) event.preventDefault();
        else onClick?.(event);
      }}
    />
  );
}
