/** A task as text for people; `--json` shows all of it. */
import { facts, moment, size } from './table.ts';
import type { WireTask } from '@darkroom/api/tasks/task';
import type { WireEvent } from '@darkroom/api/tasks/event';

/** All details of a task. */
export function taskLines(task: WireTask): readonly string[] {
  const { billing, error, output = [], outputGone = [] } = task;
  const metadata = Object.entries(task.metadata ?? {}).map(([key, value]) => `${key}=${value}`);
  return facts([
    ['task', task.taskId],
    ['model', task.model],
    ['route', task.route],
    ['status', statusOf(task)],
    ['created', moment(task.created)],
    ['started', moment(task.started) || undefined],
    ['completed', moment(task.completed) || undefined],
    ['cost', costOf(task)],
    ['held', task.completed === 0 ? `$${billing.held}` : undefined],
    ['metadata', metadata.length === 0 ? undefined : metadata.join(' ')],
    ['input', task.input === undefined ? undefined : task.input === null ? 'erased' : JSON.stringify(task.input)],
    ['error', error === undefined ? undefined : failureOf(task)],
    ...output.map(
      ({ id, type, mimeType, sizeBytes, storage }) =>
        ['output', `${id}  ${type}  ${mimeType}  ${size(sizeBytes)}  ${storage}`] as const,
    ),
    ...output.map(({ url, expireAt }) => ['url', `${url}  until ${moment(expireAt)}`] as const),
    ...outputGone.map(({ id, type, reason }) => ['gone', `${id}  ${type}  ${reason}`] as const),
  ]);
}

/** `handling 40%`. */
export function statusOf({ status, progress }: WireTask): string {
  return progress === undefined ? status : `${status} ${Math.floor(progress * 100)}%`;
}

/** What it cost, or will cost at most. */
export function costOf({ completed, billing }: WireTask): string {
  return completed === 0 ? `up to $${billing.held}` : `$${billing.captured}`;
}

/** Why a task failed. */
export function failureOf({ error }: WireTask): string {
  if (error === undefined) return 'the task failed';
  // If there is a field, the message begins with it (contract §3.2).
  return `${error.code}: ${error.message}`;
}

/** One line of a timeline. */
export function eventLine({ at, type, detail }: WireEvent): string {
  const particulars = Object.entries(detail).map(([name, value]) => `${name}=${String(value)}`);
  return [moment(at), type, ...particulars].join('  ');
}
