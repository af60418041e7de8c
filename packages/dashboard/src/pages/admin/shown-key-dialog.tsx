/** A key that was just created: shown once, so the dialog closes only when the user confirms that it is stored. */
import { Alert, Button, Checkbox, Group, Stack, TextInput } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useState } from 'react';
import { useOperator } from '../../api/admin.ts';
import type { MadeKey } from '../../api/admin.ts';
import { CodeBlock, CopyIcon } from '../../components/copy.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { texts } from '../../texts/keys.ts';
import { curlLine } from '../keys/curl-line.ts';

export function ShownKeyDialog({ made, onClose }: { readonly made: MadeKey; readonly onClose: () => void }) {
  const { baseUrl } = useOperator().service;
  const [isStored, setStored] = useState(false);
  const close = (): void => {
    if (isStored) onClose();
  };
  return (
    <Dialog isOpen title={texts.shown.title} size="lg" hasCloseButton={false} onClose={close}>
      <Stack>
        <Alert color="yellow" icon={<IconAlertTriangle />}>
          {texts.shown.warning}
        </Alert>
        <TextInput
          label={texts.shown.key}
          value={made.key}
          readOnly
          onFocus={({ currentTarget }) => currentTarget.select()}
          rightSection={<CopyIcon value={made.key} what={texts.shown.copyKey} />}
          ff="monospace"
          data-autofocus
        />
        <CodeBlock code={curlLine(baseUrl, made)} label={texts.shown.tryLabel} />
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
