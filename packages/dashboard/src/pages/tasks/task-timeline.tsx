/** The events of a task, in order, as they happen. */
import { Text, Timeline } from '@mantine/core';
import { useTaskEvents } from '../../api/task.ts';
import type { TaskEvent } from '../../api/task.ts';
import { ErrorState, LoadingState } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { texts } from '../../texts/tasks.ts';
import { Section } from './section.tsx';

interface TimelineProps {
  readonly taskId: string;
  /** Whether more events may follow without user action. */
  readonly isAwaited: boolean;
}

export function TaskTimeline({ taskId, isAwaited }: TimelineProps) {
  const { data: events, error, refetch } = useTaskEvents(taskId, isAwaited);
  return (
    <Section title={texts.timeline}>
      {events === undefined && error !== null ? <ErrorState error={error} onRetry={() => void refetch()} /> : null}
      {events === undefined && error === null ? <LoadingState /> : null}
      {events?.length === 0 ? <Text size="sm">{texts.noEvents}</Text> : null}
      <Timeline bulletSize={14} lineWidth={2} active={events?.length ?? 0}>
        {events?.map((event) => (
          <Timeline.Item key={event.seq} title={<Text size="sm">{texts.events[event.type] ?? event.type}</Text>}>
            <Text size="xs" c="dimmed" component="div">
              <Time seconds={event.at} />
              {detailOf(event)}
            </Text>
          </Timeline.Item>
        ))}
      </Timeline>
    </Section>
  );
}

function detailOf({ detail }: TaskEvent): string {
  return Object.entries(detail)
    .map(([name, value]) => ` · ${texts.eventDetails[name]?.(value) ?? `${name} ${String(value)}`}`)
    .join('');
}
