/** Times, money and labels of a task. */
import { Code, Stack } from '@mantine/core';
import { isOver } from '../../api/tasks.ts';
import type { Task } from '../../api/tasks.ts';
import { Amount } from '../../components/figures.tsx';
import { formatSeconds } from '../../components/quantities.ts';
import { Time } from '../../components/time.tsx';
import { texts } from '../../texts/tasks.ts';
import { Fact, Facts, Section } from './section.tsx';
import { useSecond } from '../../components/second.ts';

export function TaskFacts({ task }: { readonly task: Task }) {
  const { billing, created, started, completed, metadata } = task;
  const nowSeconds = useSecond() / 1000;
  const end = isOver(task.status) ? completed : nowSeconds;
  const pairs = Object.entries(metadata ?? {});
  return (
    <Stack gap="lg">
      <Section title={texts.details}>
        <Facts>
          <Fact name={texts.created}>
            <Time seconds={created} />
          </Fact>
          <Fact name={texts.started}>
            <Time seconds={started} none={texts.notYet} />
          </Fact>
          <Fact name={texts.completed}>
            <Time seconds={completed} none={texts.notYet} />
          </Fact>
          <Fact name={texts.waited}>{formatSeconds(Math.max(0, (started || end) - created))}</Fact>
          {started === 0 ? null : <Fact name={texts.took}>{formatSeconds(Math.max(0, end - started))}</Fact>}
          {task.route === undefined ? null : <Fact name={texts.route}>{task.route}</Fact>}
          <Fact name={texts.key}>
            <Code>{task.keyId}</Code>
          </Fact>
          <Fact name={texts.storage}>{task.storage === 'temp' ? texts.temp : texts.persistent}</Fact>
        </Facts>
      </Section>
      <Section title={texts.money}>
        <Facts>
          <Fact name={texts.held}>
            <Amount of={billing.held} />
          </Fact>
          <Fact name={texts.captured}>
            <Amount of={billing.captured} />
          </Fact>
          <Fact name={texts.released}>
            <Amount of={billing.released} />
          </Fact>
        </Facts>
      </Section>
      {pairs.length === 0 ? null : (
        <Section title={texts.metadata}>
          <Facts>
            {pairs.map(([key, value]) => (
              <Fact key={key} name={key}>
                {value}
              </Fact>
            ))}
          </Facts>
        </Section>
      )}
    </Stack>
  );
}
