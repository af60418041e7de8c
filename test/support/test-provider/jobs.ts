/**
 * The jobs of the test provider: in memory, gone with the process. A job ends after its prompt's time, by itself or
 * because it was cancelled before.
 */
import { randomBytes } from 'node:crypto';
import { readBehaviour } from './behaviour.ts';
import type { Behaviour } from './behaviour.ts';
import type { Holds } from './holds.ts';
import type { LogLine, Protocol } from './log.ts';

export interface Job {
  readonly id: string;
  readonly protocol: Protocol;
  readonly prompt: string;
  readonly behaviour: Behaviour;
  readonly idempotencyKey: string | undefined;
  readonly createdAt: number;
  /** Resolves when the response to its submit may be sent. */
  readonly answerable: Promise<void>;
  state: 'running' | 'done' | 'cancelled';
  /** How many polls are still to be answered with 500. */
  pollFailuresLeft: number;
  /** How many fetches of its file are still to break off. */
  fileBreaksLeft: number;
  /** Resolves when the job is no longer running. */
  readonly ended: Promise<void>;
  /** Whether the provider received a request to delete it. */
  isDeleted: boolean;
  cancel(): void;
}

/** The fields of a submit other than its prompt. */
export interface SubmitDetails {
  readonly idempotencyKey?: string | undefined;
  /** Called when the job has ended, and before if its prompt says so. */
  readonly hookUrl?: string;
  /** The fields that were sent, for the log. */
  readonly fields?: Readonly<Record<string, unknown>>;
  /** The files that were sent: field, type, bytes. */
  readonly received?: readonly string[];
}

export interface Jobs {
  create(protocol: Protocol, prompt: string, details?: SubmitDetails): Job;
  find(protocol: Protocol, id: string): Job | undefined;
  findByKey(idempotencyKey: string): Job | undefined;
  /** Counts a submit of a `[reject-first N]` prompt; true while it is to be rejected. */
  isStillRejected(protocol: Protocol, prompt: string): boolean;
}

export function createJobs(log: (line: Omit<LogLine, 'at'>) => void, holds: Holds): Jobs {
  const byId = new Map<string, Job>();
  const byKey = new Map<string, Job>();
  const rejections = new Map<string, number>();

  return {
    create(protocol, prompt, { idempotencyKey, hookUrl, fields, received } = {}) {
      const behaviour = readBehaviour(prompt);
      const id = `${protocol === 'tasks' ? 'tk-svc-' : `${protocol}-`}${randomBytes(8).toString('hex')}`;
      const identity = { protocol, jobId: id, prompt, ...(idempotencyKey === undefined ? {} : { idempotencyKey }) };
      log({
        kind: 'submit',
        ...identity,
        ...(fields === undefined ? {} : { fields: shortened(fields) }),
        ...(received === undefined ? {} : { received }),
      });

      const { promise: ended, resolve } = deferred();
      const callBack = (): void => {
        if (hookUrl !== undefined)
          void sendHook(hookUrl, id).then((status) => log({ kind: 'hook', ...identity, status }));
      };
      const repeated = behaviour.hookIntervalMs > 0 ? setInterval(callBack, behaviour.hookIntervalMs) : undefined;
      void ended.then(() => {
        clearInterval(repeated);
        callBack();
      });
      const finish = (): void => {
        if (job.state !== 'running') return;
        job.state = 'done';
        log({ kind: 'finished', ...identity });
        resolve();
      };
      const timer = behaviour.isHeld ? undefined : setTimeout(finish, behaviour.workMs);
      if (behaviour.isHeld) void holds.waitFor(prompt).then(finish);
      const job: Job = {
        id,
        protocol,
        prompt,
        behaviour,
        idempotencyKey,
        createdAt: Date.now(),
        answerable: behaviour.isAnswerHeld ? holds.waitFor(prompt) : Promise.resolve(),
        state: 'running',
        pollFailuresLeft: behaviour.pollFailures,
        fileBreaksLeft: behaviour.fileBreaks,
        ended,
        isDeleted: false,
        cancel() {
          if (job.state !== 'running') return;
          clearTimeout(timer);
          job.state = 'cancelled';
          resolve();
        },
      };
      byId.set(id, job);
      if (idempotencyKey !== undefined) byKey.set(idempotencyKey, job);
      return job;
    },

    find(protocol, id) {
      const job = byId.get(id);
      return job?.protocol === protocol ? job : undefined;
    },

    findByKey: (idempotencyKey) => byKey.get(idempotencyKey),

    isStillRejected(protocol, prompt) {
      const count = (rejections.get(`${protocol} ${prompt}`) ?? 0) + 1;
      rejections.set(`${protocol} ${prompt}`, count);
      return count <= readBehaviour(prompt).rejectFirst;
    },
  };
}

/** The body is not trusted: any will do. @returns the status of the response; 0: there was none. */
async function sendHook(url: string, id: string): Promise<number> {
  try {
    const answer = await fetch(url, { method: 'POST', body: JSON.stringify({ id, status: 'succeeded' }) });
    await answer.arrayBuffer();
    return answer.status;
  } catch {
    return 0;
  }
}

/** Long texts are shortened: an input can contain whole files. */
function shortened(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, typeof value === 'string' ? value.slice(0, 200) : value]),
  );
}

function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
