/** Replaces a key with a new one, and prompts for how long the old one should keep working. */
import { Button, Group, Radio, Stack, Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import type { CreatedKey, Key, KeyActions } from '../../api/keys.ts';
import { BusyButton } from '../../components/busy-button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Note } from '../../components/note.tsx';
import { ErrorState } from '../../components/states.tsx';
import { texts as common } from '../../texts/common.ts';
import { texts } from '../../texts/keys.ts';

const { rotation: words } = texts;

/** A day: the API's own default. */
const DEFAULT_OVERLAP = '86400';

export function RotateKeyDialog(props: {
  readonly target: Key;
  /** Whether it is the key of the session. */
  readonly isOwn: boolean;
  readonly rotate: KeyActions['rotate'];
  readonly onCreated: (created: CreatedKey) => void;
  readonly onClose: () => void;
}) {
  const { target, isOwn, onCreated, onClose } = props;
  const [overlap, setOverlap] = useState(DEFAULT_OVERLAP);
  const rotate = useMutation({ mutationFn: props.rotate });
  const submit = (): void =>
    rotate.mutate({ id: target.id, overlapSeconds: Number(overlap) }, { onSuccess: onCreated });
  return (
    <Dialog isOpen onClose={onClose} title={words.title(target.name)}>
      <Stack>
        <Text>{words.about}</Text>
        <Radio.Group label={words.overlap} value={overlap} onChange={setOverlap}>
          <Stack gap="xs" mt="xs">
            {words.overlaps.map(([seconds, label]) => (
              <Radio key={seconds} value={seconds} label={label} />
            ))}
          </Stack>
        </Radio.Group>
        {isOwn ? (
          <Note color="yellow" icon={<IconAlertTriangle />}>
            {words.own}
          </Note>
        ) : null}
        {rotate.error === null ? null : <ErrorState error={rotate.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {common.cancel}
          </Button>
          <BusyButton onClick={submit} isBusy={rotate.isPending}>
            {words.submit}
          </BusyButton>
        </Group>
      </Stack>
    </Dialog>
  );
}
