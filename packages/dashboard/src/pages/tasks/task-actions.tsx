/** The actions on a whole task. */
import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconEraser, IconExternalLink, IconPlayerStop, IconSparkles } from '@tabler/icons-react';
import { Link } from 'wouter';
import { useTaskAction } from '../../api/task.ts';
import { isOver } from '../../api/tasks.ts';
import type { Task } from '../../api/tasks.ts';
import { notify } from '../../components/notify.ts';
import { useMay, useSession } from '../../session/session.tsx';
import { texts } from '../../texts/tasks.ts';
import { ConfirmDialog } from './confirm-dialog.tsx';

export function TaskActions({ task }: { readonly task: Task }) {
  const { workflowsUrl } = useSession();
  const mayWrite = useMay('tasks:write');
  const { taskId, model, status } = task;
  // From archiving on a cancel has no effect (contract §4).
  const canCancel = mayWrite && (status === 'queued' || status === 'handling');
  const isErased = task.input === null;
  return (
    <>
      {isErased ? null : (
        <Button
          component={Link}
          href={`/playground/${modelPath(model)}?from=${taskId}`}
          variant="default"
          leftSection={<IconSparkles size={16} aria-hidden />}
        >
          {texts.openInPlayground}
        </Button>
      )}
      {workflowsUrl === undefined ? null : (
        <Button
          component="a"
          // The task's workflow has the task's own id.
          href={`${workflowsUrl}/${taskId}`}
          target="_blank"
          rel="noreferrer"
          variant="default"
          rightSection={<IconExternalLink size={16} aria-hidden />}
        >
          {texts.openWorkflow}
        </Button>
      )}
      {canCancel ? <Cancel taskId={taskId} /> : null}
      {mayWrite && isOver(status) ? <Erase taskId={taskId} /> : null}
    </>
  );
}

/** The model's own name; its slashes stay path separators. */
function modelPath(model: string): string {
  const [name = model] = model.split('@');
  return name.split('/').map(encodeURIComponent).join('/');
}

function Cancel({ taskId }: { readonly taskId: string }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  const cancel = useTaskAction(taskId, 'cancel');
  const confirm = (): void =>
    cancel.mutate(undefined, {
      onSuccess() {
        close();
        notify(texts.cancelRequested);
      },
    });
  return (
    <>
      <Button
        variant="default"
        onClick={open}
        leftSection={<IconPlayerStop size={16} aria-hidden />}
        disabled={cancel.isSuccess}
      >
        {texts.cancelTask}
      </Button>
      <ConfirmDialog
        isOpen={isOpen}
        title={texts.cancelTitle}
        body={texts.cancelBody}
        confirm={texts.cancelConfirm}
        keep={texts.keepRunning}
        isPending={cancel.isPending}
        error={cancel.error}
        onConfirm={confirm}
        onClose={close}
      />
    </>
  );
}

function Erase({ taskId }: { readonly taskId: string }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  const erase = useTaskAction(taskId, 'erase');
  const confirm = (): void =>
    erase.mutate(undefined, {
      onSuccess() {
        close();
        notify(texts.erased);
      },
    });
  return (
    <>
      <Button variant="default" onClick={open} leftSection={<IconEraser size={16} aria-hidden />}>
        {texts.eraseTask}
      </Button>
      <ConfirmDialog
        isOpen={isOpen}
        title={texts.eraseTitle}
        body={texts.eraseBody}
        confirm={texts.eraseConfirm}
        keep={texts.keep}
        isPending={erase.isPending}
        error={erase.error}
        onConfirm={confirm}
        onClose={close}
      />
    </>
  );
}
