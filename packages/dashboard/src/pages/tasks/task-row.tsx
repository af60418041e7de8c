/** A task in the list: a row of columns, or a card if there is not enough room. */
import { Group, Text } from '@mantine/core';
import { memo } from 'react';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { isOver } from '../../api/tasks.ts';
import type { TaskRow } from '../../api/tasks.ts';
import { formatUsd } from '../../components/money.ts';
import { formatSeconds } from '../../components/quantities.ts';
import { StatusBadge } from '../../components/status-badge.tsx';
import { formatExact, formatRelative } from '../../components/time.tsx';
import { texts } from '../../texts/tasks.ts';
import { Preview } from './preview.tsx';
import styles from './task-list.module.css';

export const COLUMNS = [
  texts.columns.preview,
  texts.columns.status,
  texts.columns.model,
  texts.columns.created,
  texts.columns.duration,
  texts.columns.cost,
  texts.columns.metadata,
] as const;

interface RowProps {
  readonly row: TaskRow;
  /** From 0. */
  readonly index: number;
  /** In px, from the top of the list. */
  readonly start: number;
  readonly size: number;
  readonly isCard: boolean;
  readonly isMoving: boolean;
  /** Whether it is a tab stop. */
  readonly isStop: boolean;
  /** Changes as time goes by. */
  readonly nowMs: number;
  readonly onOpen: (taskId: string) => void;
  readonly onFocus: (index: number) => void;
}

export const TaskListRow = memo(function TaskListRow(props: RowProps) {
  const { row, index, isCard, isStop } = props;
  return (
    <div
      role="row"
      // The header is the first row.
      aria-rowindex={index + 2}
      tabIndex={isStop ? 0 : -1}
      data-index={index}
      data-task-id={row.taskId}
      className={`${styles['row']} ${styles[isCard ? 'card' : 'columns']}`}
      style={{ transform: `translateY(${props.start}px)`, height: props.size }}
      onFocus={() => props.onFocus(index)}
      onClick={({ target }) => {
        // The link in it opens the task itself, or in another tab.
        if (target instanceof Element && target.closest('a') === null) props.onOpen(row.taskId);
      }}
      onKeyDown={({ key, target, currentTarget }) => {
        if (key === 'Enter' && target === currentTarget) props.onOpen(row.taskId);
      }}
    >
      {isCard ? <Card {...props} /> : <Cells {...props} />}
    </div>
  );
});

function Cells({ row, isMoving, nowMs }: RowProps) {
  return (
    <>
      <Cell>
        <Preview row={row} isMoving={isMoving} />
      </Cell>
      <Cell>
        <Status row={row} />
      </Cell>
      <Cell title={row.taskId}>
        <ModelLink row={row} />
        <br />
        <Text span size="xs" c="dimmed" ff="monospace">
          {row.taskId}
        </Text>
      </Cell>
      <Cell title={formatExact(row.created)}>{formatRelative(row.created, nowMs)}</Cell>
      <Cell isNumber>{durationOf(row, nowMs)}</Cell>
      <Cell isNumber>{costOf(row)}</Cell>
      <Cell title={metadataOf(row)}>{metadataOf(row)}</Cell>
    </>
  );
}

function Card({ row, isMoving, nowMs }: RowProps) {
  const facts = [formatRelative(row.created, nowMs), durationOf(row, nowMs), costOf(row)].filter(
    (fact) => fact !== '–',
  );
  return (
    <>
      <Cell>
        <Preview row={row} isMoving={isMoving} />
      </Cell>
      <Cell>
        <Group gap={6} justify="space-between" wrap="nowrap">
          <div className={styles['cell']}>
            <ModelLink row={row} />
          </div>
          <Status row={row} />
        </Group>
        <div className={styles['cell']}>{facts.join(' · ')}</div>
        <div className={styles['cell']}>
          <Text span size="xs" c="dimmed">
            {metadataOf(row) || row.taskId}
          </Text>
        </div>
      </Cell>
    </>
  );
}

function Cell(props: { readonly children: ReactNode; readonly title?: string; readonly isNumber?: boolean }) {
  return (
    <div
      role="gridcell"
      className={`${styles['cell']} ${props.isNumber === true ? styles['number'] : ''}`}
      {...(props.title === undefined || props.title === '' ? {} : { title: props.title })}
    >
      {props.children}
    </div>
  );
}

/** For link functions: opening in another tab, copying the URL. The tab stop is the row itself. */
function ModelLink({ row }: { readonly row: TaskRow }) {
  return (
    <Link href={`/tasks/${row.taskId}`} className={styles['link']} tabIndex={-1}>
      {row.model}
    </Link>
  );
}

function Status({ row }: { readonly row: TaskRow }) {
  return (
    <Group gap={6} wrap="nowrap" title={row.errorMessage}>
      <StatusBadge status={row.status} />
      {row.progress === undefined || row.status !== 'handling' ? null : (
        <Text span size="xs" className={styles['number']}>
          {texts.progress(row.progress)}
        </Text>
      )}
    </Group>
  );
}

function durationOf({ status, started, completed }: TaskRow, nowMs: number): string {
  if (started === 0) return '–';
  return formatSeconds(Math.max(0, (isOver(status) ? completed : Math.floor(nowMs / 1000)) - started));
}

function costOf({ status, cost }: TaskRow): string {
  return isOver(status) ? formatUsd(cost) : texts.heldCost(formatUsd(cost));
}

function metadataOf({ metadata }: TaskRow): string {
  return Object.entries(metadata ?? {})
    .map(([key, value]) => `${key}=${value}`)
    .join(', ');
}
