/** Replaces a key with a new one, and asks how long the old one should keep working. */
import { Button, Group, Radio, Stack, Text } from '@mantine/core';
import { BusyButton } from '../../components/busy-button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Note } from '../../components/note.tsx';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useState } from 'react';
import { useRotateKey } from '../../api/keys.ts';
import type { Key, MadeKey } from '../../api/keys.ts';
import { ErrorState } from '../../components/states.tsx';
import { useSession } from '../../session/session.tsx';
import { texts as common } from '../../texts/common.ts';
import { texts } from '../../texts/keys.ts';

/** A day: the API's own default. */
const DEFAULT_OVERLAP = '86400';

export function RotateDialog(props: {
  readonly target: Key;
  readonly onMade: (made: MadeKey) => void;
  readonly onClose: () => void;
}) {
  const { target, onMade, onClose } = props;
  const isOwn = useSession().keyId === target.id;
  const [overlap, setOverlap] = useState(DEFAULT_OVERLAP);
  const rotate = useRotateKey();
  const submit = (): void => rotate.mutate({ id: target.id, overlapSeconds: Number(overlap) }, { onSuccess: onMade });
  return (
    <Dialog isOpen onClose={onClose} title={texts.rotation.title(target.name)}>
      <Stack>
        <Text>{texts.rotation.about}</Text>
        <Radio.Group label={texts.rotation.overlap} value={overlap} onChange={setOverlap}>
          <Stack gap="xs" mt="xs">
            {texts.rotation.overlaps.map(([seconds, words]) => (
              <Radio key={seconds} value={seconds} label={words} />
            ))}
          </Stack>
        </Radio.Group>
        {isOwn ? (
          <Note color="yellow" icon={<IconAlertTriangle />}>
            {texts.rotation.own}
          </Note>
        ) : null}
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
