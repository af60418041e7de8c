/** Reports the result of an operation on several outputs: what was done, and each rejected output with its reason. */
import { List } from '@mantine/core';
import type { StorageDecision, StoredOutput } from '../../api/storage.ts';
import { tell, tellProblem } from '../../components/tell.ts';
import { texts } from '../../texts/storage.ts';
import { nameOf } from './storage-tile.tsx';

interface Words {
  readonly done: (count: number) => string;
  readonly refused: (count: number) => string;
}

export function tellDecision(outputs: readonly StoredOutput[], decision: StorageDecision, words: Words): void {
  const { accepted, rejected } = decision;
  if (accepted.length > 0) tell(words.done(accepted.length));
  if (rejected.length === 0) return;
  const names = new Map(outputs.map((output) => [output.id, nameOf(output)]));
  tellProblem({
    title: words.refused(rejected.length),
    isLong: true,
    message: (
      <List size="sm" role="alert">
        {rejected.map(({ id, reason }) => (
          <List.Item key={id}>
            {texts.refusalOf(`${names.get(id) ?? ''} ${id}`.trim(), texts.refusals[reason])}
          </List.Item>
        ))}
      </List>
    ),
  });
}
