/** Reports the result of an operation on several outputs: what was done, and each rejected output with its reason. */
import { List } from '@mantine/core';
import type { StorageDecision, StoredOutput } from '../../api/storage.ts';
import { notify, notifyError } from '../../components/notify.ts';
import { texts } from '../../texts/storage.ts';
import { nameOf } from './storage-tile.tsx';

interface Words {
  readonly done: (count: number) => string;
  readonly rejected: (count: number) => string;
}

export function notifyDecision(outputs: readonly StoredOutput[], decision: StorageDecision, words: Words): void {
  const { accepted, rejected } = decision;
  if (accepted.length > 0) notify(words.done(accepted.length));
  if (rejected.length === 0) return;
  const names = new Map(outputs.map((output) => [output.id, nameOf(output)]));
  notifyError({
    title: words.rejected(rejected.length),
    isLong: true,
    message: (
      <List size="sm" role="alert">
        {rejected.map(({ id, reason }) => (
          <List.Item key={id}>
            {texts.rejectionOf(`${names.get(id) ?? ''} ${id}`.trim(), texts.rejections[reason])}
          </List.Item>
        ))}
      </List>
    ),
  });
}
