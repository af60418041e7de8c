/**
 * Counts down to a deletion, with an undo button. The button gets the focus: the element that had it before is gone.
 */
import { Affix, Button, Group, Paper, Progress, Text, VisuallyHidden } from '@mantine/core';
import { useEffect, useState } from 'react';
import { texts } from '../../texts/storage.ts';
import { UNDO_SECONDS } from './deletion.ts';
import type { Deletion } from './deletion.ts';

const EVERY_MS = 250;

/** As soon as it is rendered. */
function focusIt(button: HTMLButtonElement | null): void {
  button?.focus({ preventScroll: true });
}

export function UndoNotice({ deletion }: { readonly deletion: Deletion }) {
  const { pending } = deletion;
  return (
    <>
      <VisuallyHidden role="status">
        {pending === undefined ? '' : texts.deletingNow(pending.outputs.length)}
      </VisuallyHidden>
      {pending === undefined ? null : <Notice key={pending.dueMs} pending={pending} deletion={deletion} />}
    </>
  );
}

function Notice({
  pending,
  deletion,
}: {
  readonly pending: NonNullable<Deletion['pending']>;
  readonly deletion: Deletion;
}) {
  const [leftMs, setLeftMs] = useState(UNDO_SECONDS * 1000);
  useEffect(() => {
    const timer = setInterval(() => setLeftMs(Math.max(0, pending.dueMs - Date.now())), EVERY_MS);
    return () => clearInterval(timer);
  }, [pending]);
  const { length } = pending.outputs;
  return (
    <Affix position={{ bottom: 20, left: 20, right: 20 }}>
      <Paper component="section" aria-label={texts.undoNotice} withBorder shadow="md" p="sm" maw="30rem" mx="auto">
        <Group justify="space-between" gap="sm">
          <Text size="sm">{texts.deleting(length, Math.ceil(leftMs / 1000))}</Text>
          <Group gap="xs">
            <Button size="xs" variant="subtle" color="gray" onClick={() => void deletion.sendNow()}>
              {texts.deleteNow}
            </Button>
            <Button size="xs" ref={focusIt} onClick={deletion.undo}>
              {texts.undo}
            </Button>
          </Group>
        </Group>
        <Progress value={(leftMs / (UNDO_SECONDS * 1000)) * 100} size="xs" mt="xs" aria-hidden />
      </Paper>
    </Affix>
  );
}
