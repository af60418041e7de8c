/** A key that was just created: shown once, so the dialog closes only when the user confirms that it is stored. */
import { Button, Checkbox, Group, Stack, Text, TextInput } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useState } from 'react';
import type { CreatedKey } from '../../api/keys.ts';
import { CodeBlock, CopyIcon } from '../../components/copy.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Note } from '../../components/note.tsx';
import { texts } from '../../texts/keys.ts';
import { curlCommand } from './curl-command.ts';

const { reveal: words } = texts;

export function CreatedKeyDialog(props: {
  readonly created: CreatedKey;
  /** With `/v1`. */
  readonly baseUrl: string;
  readonly onClose: () => void;
}) {
  const { created, baseUrl, onClose } = props;
  const [isStored, setStored] = useState(false);
  const close = (): void => {
    if (isStored) onClose();
  };
  return (
    <Dialog isOpen onClose={close} title={words.title} size="lg" hasCloseButton={false}>
      <Stack>
        <Note color="yellow" icon={<IconAlertTriangle />}>
          {words.warning}
        </Note>
        <TextInput
          label={words.key}
          value={created.key}
          readOnly
          onFocus={({ currentTarget }) => currentTarget.select()}
          rightSection={<CopyIcon value={created.key} what={words.copyKey} />}
          ff="monospace"
          data-autofocus
        />
        <div>
          <Text size="sm" fw={500} mb={4}>
            {words.tryIt}
          </Text>
          <CodeBlock code={curlCommand(baseUrl, created)} label={words.tryLabel} />
        </div>
        <Checkbox
          label={words.isStored}
          checked={isStored}
          onChange={({ currentTarget }) => setStored(currentTarget.checked)}
        />
        <Group justify="flex-end">
          <Button onClick={close} disabled={!isStored}>
            {words.done}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
