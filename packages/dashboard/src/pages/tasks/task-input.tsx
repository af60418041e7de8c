/** The input of a task, as it was sent. */
import { Text } from '@mantine/core';
import type { Task } from '../../api/tasks.ts';
import { CodeBlock } from '../../components/copy.tsx';
import { texts } from '../../texts/tasks.ts';
import { Section } from './section.tsx';

/** @param input null: it was erased. */
export function TaskInput({ input }: { readonly input: Task['input'] }) {
  if (input === undefined) return null;
  return (
    <Section title={texts.input}>
      {input === null ? (
        <Text size="sm">{texts.inputErased}</Text>
      ) : (
        <CodeBlock code={JSON.stringify(input, null, 2)} label={texts.inputCode} />
      )}
    </Section>
  );
}
