/** The outputs of a task: each one shown inline, with its details and its actions. */
import { Badge, Box, Button, Center, Group, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { BusyButton } from '../../components/busy-button.tsx';
import { useDisclosure } from '@mantine/hooks';
import { IconPin, IconTrash } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { deleteOutputs, usePromotion, useStorageChanged } from '../../api/storage.ts';
import type { StorageDecision } from '../../api/storage.ts';
import { useRefreshTask } from '../../api/task.ts';
import { isOver } from '../../api/tasks.ts';
import type { Output, Task } from '../../api/tasks.ts';
import { CopyIcon } from '../../components/copy.tsx';
import { DownloadButton } from '../../components/download-button.tsx';
import { MediaView } from '../../components/media-view.tsx';
import { formatBytes, formatSeconds } from '../../components/quantities.ts';
import { Time } from '../../components/time.tsx';
import { notify, notifyError } from '../../components/notify.ts';
import { useMay } from '../../session/session.tsx';
import { texts as storageTexts } from '../../texts/storage.ts';
import { texts } from '../../texts/tasks.ts';
import { ConfirmDialog } from './confirm-dialog.tsx';
import { Fact, Facts, Section } from './section.tsx';

export function TaskOutputs({ task }: { readonly task: Task }) {
  const { output = [], outputGone = [] } = task;
  return (
    <Section title={texts.outputs}>
      {isOver(task.status) ? null : (
        <Center mih="8rem">
          <Text c="dimmed">{texts.noOutputYet}</Text>
        </Center>
      )}
      {isOver(task.status) && output.length === 0 ? <Text size="sm">{texts.noOutputStored}</Text> : null}
      <Stack gap="lg">
        <SimpleGrid cols={{ base: 1, sm: Math.min(2, output.length) }} spacing="lg" verticalSpacing="xl">
          {output.map((each, index) => (
            <OutputView key={each.id} output={each} number={index + 1} task={task} />
          ))}
        </SimpleGrid>
        {outputGone.map((each) => (
          <Group key={each.id} gap={4} c="dimmed">
            <Text size="sm">{texts.gone(each.type, each.reason)}</Text>
            <Text size="sm" component="div">
              <Time seconds={each.goneAt} />
            </Text>
          </Group>
        ))}
      </Stack>
    </Section>
  );
}

interface OutputProps {
  readonly output: Output;
  /** From 1. */
  readonly number: number;
  readonly task: Task;
}

function OutputView({ output, number, task }: OutputProps) {
  // A fresh URL every half hour would restart a video: the first one is kept as long as it works.
  const [shown, setShown] = useState(output.url);
  const { width, height, durationSeconds } = output;
  return (
    <Box>
      <Box onError={() => setShown(output.url)} mb="sm">
        <MediaView media={{ ...output, url: shown }} alt={texts.outputAlt(output.type, number, task.model)} />
      </Box>
      <Group justify="space-between" gap="xs" mb="xs">
        <Group gap="xs">
          <Title order={3} size="h6" tt="capitalize">
            {texts.outputName(output.type, number)}
          </Title>
          <Badge variant="default" tt="none">
            {output.storage === 'temp' ? texts.temp : texts.persistent}
          </Badge>
        </Group>
        <OutputActions output={output} task={task} />
      </Group>
      <Facts>
        <Fact name={texts.size}>{formatBytes(output.sizeBytes)}</Fact>
        {width === undefined || height === undefined ? null : (
          <Fact name={texts.dimensions}>{`${width} × ${height}`}</Fact>
        )}
        {durationSeconds === undefined ? null : <Fact name={texts.length}>{formatSeconds(durationSeconds)}</Fact>}
        <Fact name={texts.mediaType}>{output.mimeType}</Fact>
        <Fact name={texts.storedUntil}>
          {output.retainUntil === 0 ? texts.storedUntilDeleted : <Time seconds={output.retainUntil} />}
        </Fact>
        <Fact name={texts.checksum}>
          <Copied value={output.sha256} shown={`${output.sha256.slice(0, 16)}…`} what={texts.copyChecksum} />
        </Fact>
        <Fact name={texts.outputId}>
          <Copied value={output.id} shown={output.id} what={texts.copyOutputId} />
        </Fact>
      </Facts>
    </Box>
  );
}

function Copied({ value, shown, what }: { readonly value: string; readonly shown: string; readonly what: string }) {
  return (
    <Group gap={4} component="span" display="inline-flex" wrap="nowrap">
      <Text span size="xs" ff="monospace">
        {shown}
      </Text>
      <CopyIcon value={value} what={what} />
    </Group>
  );
}

function OutputActions({ output, task }: Omit<OutputProps, 'number'>) {
  const mayWrite = useMay('storage:write');
  const refresh = useRefreshTask(task.taskId);
  const storageChanged = useStorageChanged();
  const [isOpen, { open, close }] = useDisclosure(false);
  const promotion = usePromotion();
  const removal = useMutation({
    mutationFn: () => deleteOutputs([output.id]),
    onSuccess(decision) {
      close();
      notifyDecision(decision, texts.removed);
      storageChanged();
      refresh();
    },
  });
  const promote = (): void =>
    promotion.mutate([output.id], {
      onSuccess: (decision) => notifyDecision(decision, texts.promoteRequested),
      onError: (error) => notifyError({ message: error.message }),
      onSettled: refresh,
    });
  return (
    <Group gap="xs">
      <DownloadButton url={output.url} />
      {mayWrite && output.storage === 'temp' ? (
        <BusyButton
          size="xs"
          variant="default"
          leftSection={<IconPin size={14} aria-hidden />}
          isBusy={promotion.isPending}
          onClick={promote}
        >
          {texts.promote}
        </BusyButton>
      ) : null}
      {mayWrite ? (
        <Button size="xs" variant="default" leftSection={<IconTrash size={14} aria-hidden />} onClick={open}>
          {texts.remove}
        </Button>
      ) : null}
      <ConfirmDialog
        isOpen={isOpen}
        title={texts.removeTitle}
        body={texts.removeBody}
        confirm={texts.removeConfirm}
        keep={texts.keep}
        isPending={removal.isPending}
        error={removal.error}
        onConfirm={() => removal.mutate()}
        onClose={close}
      />
    </Group>
  );
}

/** The request was for one output: it was accepted or rejected. */
function notifyDecision({ rejected: [rejection] }: StorageDecision, accepted: string): void {
  if (rejection === undefined) notify(accepted);
  else notifyError({ message: storageTexts.rejections[rejection.reason] });
}
