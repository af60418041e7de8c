/**
 * Waiting for a task to change before answering (contract §3): `Prefer: wait=N` of RFC 7240.
 */
import type { ServerResponse } from 'node:http';
import { TASK_STATUSES } from '../domain/task-status.ts';
import type { TaskStatus } from '../domain/task-status.ts';
import type { TaskId } from '../domain/workflow-ids.ts';
import type { EventFeed } from '../tasks/feed.ts';

/** Contract §3: "N ≤ 30". */
const LONGEST_WAIT_SECONDS = 30;

/** A preference up to its end: a name, and a value that is a token or a quoted text (RFC 7240 §2). */
const PREFERENCE = /^[ \t]*([\w!#$%&'*+.^`|~-]+)[ \t]*(?:=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^\s",;]*)))?[ \t]*(?:;|$)/;

/**
 * Reads how long a client would like to wait. Of a preference that is given twice the first counts (RFC 7240 §2).
 *
 * @param header `Prefer`, several of them joined by commas.
 * @returns whole seconds, 1 to 30; undefined where it prefers nothing of the kind, or what cannot be read.
 */
export function preferredWait(header: string): number | undefined {
  for (const part of splitOutsideQuotes(header)) {
    const [, name, quoted, token] = PREFERENCE.exec(part) ?? [];
    if (name?.toLowerCase() !== 'wait') continue;
    const value = quoted ?? token ?? '';
    const seconds = /^\d{1,9}$/.test(value) ? Math.min(Number(value), LONGEST_WAIT_SECONDS) : 0;
    return seconds > 0 ? seconds : undefined;
  }
  return undefined;
}

function splitOutsideQuotes(header: string): string[] {
  const parts: string[] = [];
  let begin = 0;
  let isQuoted = false;
  for (let place = 0; place < header.length; place++) {
    const character = header[place];
    if (isQuoted && character === '\\') place += 1;
    else if (character === '"') isQuoted = !isQuoted;
    else if (character === ',' && !isQuoted) {
      parts.push(header.slice(begin, place));
      begin = place + 1;
    }
  }
  parts.push(header.slice(begin));
  return parts;
}

/** What a task's status is after an event; the other events leave it as it is. */
const STATUS_AFTER: Readonly<Record<string, TaskStatus>> = {
  started: 'handling',
  archiving: 'archiving',
  settled: 'success',
};

/**
 * Waits until a task has left a status, the time is over, the client is gone or the feed ends.
 *
 * @param status as it was read; what happened since then ends the wait at once.
 */
export function untilStatusChanges(
  feed: EventFeed,
  taskId: TaskId,
  status: TaskStatus,
  seconds: number,
  response: ServerResponse,
): Promise<void> {
  return new Promise((resolve) => {
    if (response.destroyed) {
      resolve();
      return;
    }
    const rank = TASK_STATUSES.indexOf(status);
    const finish = (): void => {
      clearTimeout(timer);
      unsubscribe();
      response.off('close', finish);
      resolve();
    };
    const timer = setTimeout(finish, seconds * 1000);
    const unsubscribe = feed.subscribe(taskId, 0, {
      onEvent({ type }) {
        const next = STATUS_AFTER[type];
        if (next !== undefined && TASK_STATUSES.indexOf(next) > rank) finish();
      },
      onEnd: finish,
    });
    response.once('close', finish);
  });
}
