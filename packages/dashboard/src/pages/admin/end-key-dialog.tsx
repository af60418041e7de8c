/** Confirms the replacement or revocation of a key. */
import { Button, Group, Radio, Stack, Text } from '@mantine/core';
import { BusyButton } from '../../components/busy-button.tsx';
import { useState } from 'react';
import { useRevokeAccountKey, useRotateAccountKey } from '../../api/admin.ts';
import type { MadeKey } from '../../api/admin.ts';
import type { Key } from '../../api/keys.ts';
import { Dialog } from '../../components/dialog.tsx';
import { ErrorState } from '../../components/states.tsx';
import { tell } from '../../components/tell.ts';
import { texts as common } from '../../texts/common.ts';
import { texts } from '../../texts/keys.ts';

/** A day: the API's own default. */
const DEFAULT_OVERLAP = '86400';

interface EndKeyProps {
  readonly target: Key;
  readonly onMade: (made: MadeKey) => void;
  readonly onClose: () => void;
}

export function EndKeyDialog({ kind, ...props }: EndKeyProps & { readonly kind: 'rotate' | 'revoke' }) {
  return kind === 'rotate' ? <Rotation {...props} /> : <Revocation {...props} />;
}

function Rotation({ target, onMade, onClose }: EndKeyProps) {
  const [overlap, setOverlap] = useState(DEFAULT_OVERLAP);
  const rotate = useRotateAccountKey();
  const submit = (): void => rotate.mutate({ id: target.id, overlapSeconds: Number(overlap) }, { onSuccess: onMade });
  return (
    <Dialog isOpen title={texts.rotation.title(target.name)} onClose={onClose}>
      <Stack>
        <Text>{texts.rotation.about}</Text>
        <Radio.Group label={texts.rotation.overlap} value={overlap} onChange={setOverlap}>
          <Stack gap="xs" mt="xs">
            {texts.rotation.overlaps.map(([seconds, words]) => (
              <Radio key={seconds} value={seconds} label={words} />
            ))}
          </Stack>
        </Radio.Group>
        {rotate.error === null ? null : <ErrorState error={rotate.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {common.cancel}
          </Button>
          <BusyButton onClick={submit} isBusy={rotate.isPending}>
            {texts.rotation.submit}
          </BusyButton>
        </Group>
      </Stack>
    </Dialog>
  );
}

function Revocation({ target, onClose }: EndKeyProps) {
  const revoke = useRevokeAccountKey();
  const submit = (): void =>
    revoke.mutate(target.id, {
      onSuccess() {
        tell(texts.revocation.done(target.name));
        onClose();
      },
    });
  return (
    <Dialog isOpen title={texts.revocation.title(target.name)} onClose={onClose}>
      <Stack>
        <Text>{texts.revocation.about}</Text>
        {revoke.error === null ? null : <ErrorState error={revoke.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose} data-autofocus>
            {common.cancel}
          </Button>
          <BusyButton color="red.9" onClick={submit} isBusy={revoke.isPending}>
            {texts.revocation.submit}
          </BusyButton>
        </Group>
      </Stack>
    </Dialog>
  );
}
