/**
 * The work of the test provider: in memory, gone with the process. A job ends after its prompt's time, by itself or
 * because it was cancelled before.
 */
import { randomBytes } from 'node:crypto';
import { readBehaviour } from './behaviour.ts';
import type { Behaviour } from './behaviour.ts';
import type { LogLine, Protocol } from './log.ts';

export interface Job {
  readonly id: string;
  readonly protocol: Protocol;
  readonly prompt: string;
  readonly behaviour: Behaviour;
  readonly idempotencyKey: string | undefined;
  readonly createdAt: number;
  state: 'running' | 'done' | 'cancelled';
  /** How many polls are still to be answered with 500. */
  pollFailuresLeft: number;
  /** Resolves when the job is no longer running. */
  readonly ended: Promise<void>;
  cancel(): void;
}

export interface Jobs {
  create(protocol: Protocol, prompt: string, idempotencyKey?: string): Job;
  find(protocol: Protocol, id: string): Job | undefined;
  findByKey(idempotencyKey: string): Job | undefined;
  /** Counts a submit of a `[refuse-first N]` prompt; true while it is to be refused. */
  isStillRefused(protocol: Protocol, prompt: string): boolean;
}

export function createJobs(log: (line: Omit<LogLine, 'at'>) => void): Jobs {
  const byId = new Map<string, Job>();
  const byKey = new Map<string, Job>();
  const refusals = new Map<string, number>();

  return {
    create(protocol, prompt, idempotencyKey) {
      const behaviour = readBehaviour(prompt);
      const id = `${protocol === 'tasks' ? 'tk-svc-' : `${protocol}-`}${randomBytes(8).toString('hex')}`;
      const identity = { protocol, jobId: id, prompt, ...(idempotencyKey === undefined ? {} : { idempotencyKey }) };
      log({ kind: 'submit', ...identity });

      const { promise: ended, resolve } = deferred();
      const timer = setTimeout(() => {
        job.state = 'done';
        log({ kind: 'finished', ...identity });
        resolve();
      }, behaviour.workMs);
      const job: Job = {
        id,
        protocol,
        prompt,
        behaviour,
        idempotencyKey,
        createdAt: Date.now(),
        state: 'running',
        pollFailuresLeft: behaviour.pollFailures,
        ended,
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

    isStillRefused(protocol, prompt) {
      const count = (refusals.get(`${protocol} ${prompt}`) ?? 0) + 1;
      refusals.set(`${protocol} ${prompt}`, count);
      return count <= readBehaviour(prompt).refuseFirst;
    },
  };
}

function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
