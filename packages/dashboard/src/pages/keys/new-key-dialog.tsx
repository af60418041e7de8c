/** A key that was just created: shown once, so the dialog closes only when the user confirms that it is stored. */
import { Button, Checkbox, Group, Stack, Text, TextInput } from '@mantine/core';
import { Dialog } from '../../components/dialog.tsx';
import { Note } from '../../components/note.tsx';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useState } from 'react';
import type { MadeKey } from '../../api/keys.ts';
import { CodeBlock, CopyIcon } from '../../components/copy.tsx';
import { useSession } from '../../session/session.tsx';
import { texts } from '../../texts/keys.ts';
import { curlLine } from './curl-line.ts';

export function NewKeyDialog({ made, onClose }: { readonly made: MadeKey; readonly onClose: () => void }) {
  const { baseUrl } = useSession();
  const [isStored, setStored] = useState(false);
  const close = (): void => {
    if (isStored) onClose();
  };
  return (
    <Dialog isOpen onClose={close} title={texts.shown.title} size="lg" hasCloseButton={false}>
      <Stack>
        <Note color="yellow" icon={<IconAlertTriangle />}>
          {texts.shown.warning}
        </Note>
        <TextInput
          label={texts.shown.key}
          value={made.key}
          readOnly
          onFocus={({ currentTarget }) => currentTarget.select()}
          rightSection={<CopyIcon value={made.key} what={texts.shown.copyKey} />}
          ff="monospace"
          data-autofocus
        />
        <div>
          <Text size="sm" fw={500} mb={4}>
            {texts.shown.tryIt}
          </Text>
          <CodeBlock code={curlLine(baseUrl, made)} label={texts.shown.tryLabel} />
        </div>
        <Checkbox
          label={texts.shown.stored}
          checked={isStored}
          onChange={({ currentTarget }) => setStored(currentTarget.checked)}
        />
        <Group justify="flex-end">
          <Button onClick={close} disabled={!isStored}>
            {texts.shown.done}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
