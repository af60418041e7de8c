/** One output as large as possible, with its details. The arrow keys go to the neighbouring ones. */
import { ActionIcon, Anchor, Button, Center, Group, Text } from '@mantine/core';
import { useWindowEvent } from '@mantine/hooks';
import { IconChevronLeft, IconChevronRight, IconPin, IconTrash } from '@tabler/icons-react';
import { Link } from 'wouter';
import type { StoredOutput } from '../../api/storage.ts';
import { CopyIcon } from '../../components/copy.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { DownloadButton } from '../../components/download-button.tsx';
import { MediaView } from '../../components/media-view.tsx';
import { formatBytes } from '../../components/quantities.ts';
import { Time } from '../../components/time.tsx';
import { texts } from '../../texts/storage.ts';
import { retentionText, nameOf } from './storage-tile.tsx';

interface ViewerProps {
  readonly output: StoredOutput | undefined;
  readonly mayWrite: boolean;
  readonly nowMs: number;
  readonly onStep: (step: 1 | -1) => void;
  readonly onPromote: (output: StoredOutput) => void;
  readonly onDelete: (output: StoredOutput) => void;
  readonly onClose: () => void;
}

export function StorageViewer({ output, onClose, onStep, ...props }: ViewerProps) {
  return (
    <Dialog
      isOpen={output !== undefined}
      onClose={onClose}
      title={output === undefined ? '' : nameOf(output)}
      size="70rem"
    >
      {output === undefined ? null : <Viewed output={output} onStep={onStep} {...props} />}
    </Dialog>
  );
}

function Viewed(props: Omit<ViewerProps, 'output' | 'onClose'> & { readonly output: StoredOutput }) {
  const { output, mayWrite, onStep } = props;
  useWindowEvent('keydown', ({ key, target }) => {
    // A media player uses these keys itself.
    if (target instanceof HTMLMediaElement) return;
    if (key === 'ArrowLeft') onStep(-1);
    if (key === 'ArrowRight') onStep(1);
  });
  const canChange = mayWrite && output.status === 'available';
  return (
    <>
      <Group wrap="nowrap" gap="xs">
        <ActionIcon variant="subtle" color="gray" aria-label={texts.previous} onClick={() => onStep(-1)}>
          <IconChevronLeft />
        </ActionIcon>
        <Center flex={1} miw={0} mih="12rem">
          {output.url === '' ? (
            <Text>{texts.deleted}</Text>
          ) : (
            <MediaView key={output.id} media={output} alt={nameOf(output)} />
          )}
        </Center>
        <ActionIcon variant="subtle" color="gray" aria-label={texts.next} onClick={() => onStep(1)}>
          <IconChevronRight />
        </ActionIcon>
      </Group>
      <Group justify="space-between" mt="md" gap="sm">
        <Text size="sm" component="div">
          {formatBytes(output.size)} · {output.mimeType} · {retentionText(output, props.nowMs)} ·{' '}
          <Time seconds={output.created} />
          <br />
          <Anchor component={Link} href={`/tasks/${output.taskId}`} c="inherit" underline="always">
            {texts.openTask}
          </Anchor>
          <Text span size="xs" ff="monospace" ml="sm">
            {output.id}
          </Text>
          <CopyIcon value={output.id} what={texts.copyOutputId} />
        </Text>
        <Group gap="xs">
          {output.url === '' ? null : <DownloadButton url={output.url} />}
          {canChange && output.storage_tier === 'temp' ? (
            <Button
              size="xs"
              variant="default"
              leftSection={<IconPin size={14} aria-hidden />}
              onClick={() => props.onPromote(output)}
            >
              {texts.promote}
            </Button>
          ) : null}
          {canChange ? (
            <Button
              size="xs"
              variant="default"
              leftSection={<IconTrash size={14} aria-hidden />}
              onClick={() => props.onDelete(output)}
            >
              {texts.remove}
            </Button>
          ) : null}
        </Group>
      </Group>
    </>
  );
}
