/**
 * Waiting for a task to change before answering (contract §3): `Prefer: wait=N` of RFC 7240.
 */
import type { ServerResponse } from 'node:http';
import type { Caller } from '../../accounts/authenticate.ts';
import { TASK_STATUSES } from '@darkroom/api/facts/task-status';
import type { TaskStatus } from '@darkroom/api/facts/task-status';
import type { TaskId } from '../../domain/workflow-ids.ts';
import type { HttpContext } from '../app/context.ts';

/** The longest wait that a client can request. Contract §3: "N ≤ 30". */
const LONGEST_WAIT_SECONDS = 30;

/** A token of HTTP (RFC 9110 §5.6.2). */
const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/;
/** The characters between two quotes, including escaped ones. */
const QUOTED = /^"((?:[^"\\]|\\.)*)"$/;

/**
 * Reads how long a client would like to wait. Of a preference that is given twice the first counts (RFC 7240 §2).
 *
 * @param header `Prefer`, several of them joined by commas.
 * @returns whole seconds, 1 to 30; undefined where there is no such preference, or it cannot be parsed.
 */
export function preferredWait(header: string): number | undefined {
  const value = valueOfPreference(header, 'wait');
  const seconds = value === undefined ? undefined : readSeconds(value);
  return seconds === undefined || seconds === 0 ? undefined : Math.min(seconds, LONGEST_WAIT_SECONDS);
}

/** Whether a client would rather get a response at once than the result (RFC 7240 §4.1). */
export function prefersAsync(header: string): boolean {
  return valueOfPreference(header, 'respond-async') !== undefined;
}

/** @returns '' for a preference without a value; undefined: it is not there. */
function valueOfPreference(header: string, wanted: string): string | undefined {
  for (const preference of splitOutsideQuotes(header, ',')) {
    // What follows a semicolon are parameters of the preference; ours have none.
    const [text = ''] = splitOutsideQuotes(preference, ';');
    const end = text.indexOf('=');
    const name = (end === -1 ? text : text.slice(0, end)).trim().toLowerCase();
    if (name === wanted) return end === -1 ? '' : text.slice(end + 1).trim();
  }
  return undefined;
}

/** @param value a token or a quoted text. */
function readSeconds(value: string): number | undefined {
  const text = TOKEN.test(value) ? value : (QUOTED.exec(value)?.[1] ?? '');
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

function splitOutsideQuotes(text: string, separator: string): string[] {
  const parts: string[] = [];
  let begin = 0;
  let isQuoted = false;
  for (let index = 0; index < text.length; index++) {
    const character = text[index];
    if (isQuoted && character === '\\') index += 1;
    else if (character === '"') isQuoted = !isQuoted;
    else if (character === separator && !isQuoted) {
      parts.push(text.slice(begin, index));
      begin = index + 1;
    }
  }
  parts.push(text.slice(begin));
  return parts;
}

/** A task's status after an event; the other events do not change it. */
const STATUS_AFTER: Readonly<Record<string, TaskStatus>> = {
  started: 'handling',
  archiving: 'archiving',
  settled: 'success',
};

/**
 * Waits until a task has left a status, the time has passed, the client disconnects or loses access, or the feed ends.
 *
 * @param status as it was read; a change since then ends the wait at once.
 * @throws {UnauthenticatedError} @throws {AccountSuspendedError} since the wait began.
 */
export function waitForStatusChange(
  { feed, openResponses }: Pick<HttpContext, 'feed' | 'openResponses'>,
  caller: Caller,
  taskId: TaskId,
  status: TaskStatus,
  seconds: number,
  response: ServerResponse,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (response.destroyed) {
      resolve();
      return;
    }
    const rank = TASK_STATUSES.indexOf(status);
    const finish = (): void => {
      clearTimeout(timer);
      unsubscribe();
      unregister();
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
    const unregister = openResponses.register(caller, (reason) => {
      reject(reason);
      finish();
    });
    response.once('close', finish);
  });
}
