/** Confirms an action that cannot be undone. The button that cancels has the initial focus. */
import { Button, Group, Stack, Text } from '@mantine/core';
import { BusyButton } from '../../components/busy-button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { ErrorState } from '../../components/states.tsx';

interface ConfirmProps {
  readonly isOpen: boolean;
  readonly title: string;
  readonly body: string;
  readonly confirm: string;
  readonly keep: string;
  readonly isPending: boolean;
  readonly error: Error | null;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}

export function ConfirmDialog(props: ConfirmProps) {
  return (
    <Dialog isOpen={props.isOpen} onClose={props.onClose} title={props.title} hasCloseButton={false}>
      <Stack>
        <Text size="sm">{props.body}</Text>
        {props.error === null ? null : <ErrorState error={props.error} />}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={props.onClose} data-autofocus>
            {props.keep}
          </Button>
          <BusyButton onClick={props.onConfirm} isBusy={props.isPending}>
            {props.confirm}
          </BusyButton>
        </Group>
      </Stack>
    </Dialog>
  );
}
