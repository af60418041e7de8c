/** Creates a new signing secret, and states beforehand how long the old one signs as well. */
import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useRotateSigningSecret } from '../../api/webhooks.ts';
import { BusyButton } from '../../components/busy-button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { ErrorState } from '../../components/states.tsx';
import { notify } from '../../components/notify.ts';
import { formatExact } from '../../components/time.tsx';
import { texts as common } from '../../texts/common.ts';
import { texts } from '../../texts/webhooks.ts';

interface RotateKeyProps {
  readonly isOpen: boolean;
  /** Unix seconds: until when a previous key already signs as well; 0: there is none. */
  readonly previousExpires: number;
  readonly onClose: () => void;
}

export function RotateSecretDialog({ isOpen, ...props }: RotateKeyProps) {
  return (
    <Dialog isOpen={isOpen} title={texts.rotation.title} onClose={props.onClose}>
      <Rotation {...props} />
    </Dialog>
  );
}

function Rotation({ previousExpires, onClose }: Omit<RotateKeyProps, 'isOpen'>) {
  const rotate = useRotateSigningSecret();
  const submit = (): void =>
    rotate.mutate(undefined, {
      onSuccess() {
        notify(texts.secret.isRotated);
        onClose();
      },
    });
  return (
    <Stack>
      <Text size="sm">{texts.rotation.about}</Text>
      {previousExpires === 0 ? null : (
        <Alert color="yellow" icon={<IconAlertTriangle aria-hidden />}>
          {texts.rotation.again(formatExact(previousExpires))}
        </Alert>
      )}
      {rotate.error === null ? null : <ErrorState error={rotate.error} />}
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose} data-autofocus>
          {common.cancel}
        </Button>
        <BusyButton onClick={submit} isBusy={rotate.isPending}>
          {texts.rotation.submit}
        </BusyButton>
      </Group>
    </Stack>
  );
}
