/** An account that has tasks: its balance, running tasks, and recent outputs. */
import { Anchor, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { useId } from 'react';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { Account } from '../../api/account.ts';
import { isOver } from '../../api/tasks.ts';
import type { Task } from '../../api/tasks.ts';
import { Figure, Figures } from '../../components/figures.tsx';
import { formatUsd } from '../../components/money.ts';
import { useNow } from '../../components/now.ts';
import { OutputThumbnail } from '../../components/output-thumbnail.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import { Time, formatRelative } from '../../components/time.tsx';
import { texts } from '../../texts/overview.ts';
import classes from './overview.module.css';

/** This many images fill a screen. */
const SHOWN = 12;

interface ActivityProps {
  /** Newest first. */
  readonly tasks: readonly Task[];
  readonly total: number;
  /** Undefined if the key may not read it. */
  readonly account: Account | undefined;
}

export function Activity({ tasks, total, account }: ActivityProps) {
  const running = tasks.filter(({ status }) => !isOver(status));
  const withOutputs = tasks.filter(({ output = [] }) => output.length > 0).slice(0, SHOWN);
  return (
    <Stack gap="lg">
      <Figures>
        {account === undefined ? null : (
          <>
            <LinkedFigure
              name={texts.balance}
              value={formatUsd(account.available)}
              note={texts.held(formatUsd(account.held))}
              link={{ href: '/usage', name: texts.toUsage }}
            />
            <LinkedFigure
              name={texts.running}
              value={texts.runningNow(account.usage.runningTasks)}
              note={texts.queued(account.usage.queuedTasks)}
              link={{ href: '/tasks?status=queued,handling,archiving', name: texts.toRunning }}
            />
          </>
        )}
        <LinkedFigure
          name={texts.total}
          value={total.toLocaleString('en')}
          link={{ href: '/tasks', name: texts.toTasks }}
        />
      </Figures>
      {running.length === 0 ? null : (
        <Section title={texts.runningTitle}>
          <Stack gap={4} component="ul" p={0} m={0} aria-live="polite">
            {running.slice(0, SHOWN).map((task) => (
              <RunningTask key={task.taskId} task={task} />
            ))}
          </Stack>
        </Section>
      )}
      <Section
        title={texts.recentTitle}
        action={
          <Anchor component={Link} href="/storage" size="sm" c="inherit" underline="always">
            {texts.toStorage}
          </Anchor>
        }
      >
        {withOutputs.length === 0 ? (
          <Text size="sm">{texts.noRecent}</Text>
        ) : (
          <ul className={classes['gallery']} aria-label={texts.recent}>
            {withOutputs.map((task) => (
              <RecentOutput key={task.taskId} task={task} />
            ))}
          </ul>
        )}
      </Section>
    </Stack>
  );
}

function Section({
  title,
  action,
  children,
}: {
  readonly title: string;
  readonly action?: ReactNode;
  readonly children: ReactNode;
}) {
  const id = useId();
  return (
    <Paper withBorder p="md" component="section" aria-labelledby={id}>
      <Group justify="space-between" mb="sm">
        <Title order={2} size="h5" id={id}>
          {title}
        </Title>
        {action}
      </Group>
      {children}
    </Paper>
  );
}

function LinkedFigure(props: {
  readonly name: string;
  readonly value: string;
  readonly note?: string;
  readonly link: { readonly href: string; readonly name: string };
}) {
  return (
    <Figure name={props.name} value={props.value}>
      <Group justify="space-between" gap={4}>
        <Text size="sm">{props.note}</Text>
        <Anchor component={Link} href={props.link.href} size="sm" c="inherit" underline="always">
          {props.link.name}
        </Anchor>
      </Group>
    </Figure>
  );
}

function RunningTask({ task }: { readonly task: Task }) {
  return (
    <Group component="li" gap="sm" style={{ listStyle: 'none' }}>
      <StatusBadge status={task.status} />
      <Anchor component={Link} href={pathOf(task)} size="sm" c="inherit" underline="always">
        {task.model}
      </Anchor>
      <Text size="sm" component="div">
        <Time seconds={task.created} />
      </Text>
    </Group>
  );
}

function RecentOutput({ task }: { readonly task: Task }) {
  const nowMs = useNow();
  const { output = [] } = task;
  const shown = output.find(({ mimeType }) => mimeType.startsWith('image/')) ?? output[0];
  const when = formatRelative(task.completed, nowMs);
  return (
    <li>
      <Link href={pathOf(task)} className={classes['output']} aria-label={texts.outputOf(task.model, when)}>
        <OutputThumbnail output={shown} size="100%" />
        <Text size="sm" fw={600} lineClamp={1} mt={4}>
          {task.model}
        </Text>
        <Text size="xs">{when}</Text>
      </Link>
    </li>
  );
}

function pathOf({ taskId }: Task): string {
  return `/tasks/${encodeURIComponent(taskId)}`;
}
