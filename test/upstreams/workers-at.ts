/** Three workers at one upstream: gates that share a database and nothing else. */
import assert from 'node:assert/strict';
import type { Database } from '../../src/database/database.ts';
import { newId, newTaskId } from '../../src/domain/ids.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { createUpstreamGate } from '../../src/upstreams/gate.ts';
import type { Entry, GatedUpstream, UpstreamGate } from '../../src/upstreams/gate.ts';
import type { Admission } from '../../src/upstreams/slots.ts';
import type { TaskRoom } from '../tasks/task-room.ts';

export interface WorkersAt {
  readonly there: GatedUpstream;
  /** The tasks that were admitted after a wait, in order. */
  readonly woken: readonly Admission[];
  /** A different worker's each time. */
  gate(): UpstreamGate;
  /** @param capOfModel the cap of the task's model; default: the upstream's. */
  enter(task: Admission, capOfModel?: number): Promise<Entry['kind']>;
  release(task: Pick<Admission, 'taskId'>): Promise<void>;
}

/** @param cap of the models that use it; undefined: none. */
export function workersAt(database: Database, cap: number | undefined): WorkersAt {
  const there: GatedUpstream = { name: newId('req'), concurrency: cap };
  const woken: Admission[] = [];
  const worker = (): UpstreamGate =>
    createUpstreamGate({
      database,
      logger: silentLogger(),
      wake(_, admission) {
        woken.push(admission);
        return Promise.resolve(undefined);
      },
    });
  const gates = [worker(), worker(), worker()];
  let asked = 0;
  const gate = (): UpstreamGate => gates[asked++ % gates.length] ?? assert.fail();
  return {
    there,
    woken,
    gate,
    enter: async (task, capOfModel = cap) => (await gate().enter({ ...there, concurrency: capOfModel }, task)).kind,
    release: ({ taskId }) => gate().release(there, taskId),
  };
}

/** A new task of an account. */
export function taskOf(accountId: string): Admission {
  return { taskId: newTaskId(), accountId };
}

/** The jobs of an upstream, as they are counted and as they are listed. */
export async function jobsAt(room: TaskRoom, { name }: GatedUpstream): Promise<unknown> {
  const [row] = await room.rows(
    `SELECT slots_taken AS counted, (SELECT count(*)::integer FROM upstream_slots WHERE upstream = $1) AS rows
       FROM upstream_states WHERE upstream = $1`,
    name,
  );
  return row;
}

/** Ends a task as if that had been this long ago; its slots and its place in a queue stay. */
export async function endTask(room: TaskRoom, taskId: string, secondsAgo: number): Promise<void> {
  await room.rows(
    `UPDATE tasks SET status = 'fail', error_reason = 'terminated', captured_micro_usd = 0,
            completed_at = now() - make_interval(secs => $2) WHERE id = $1`,
    taskId,
    secondsAgo,
  );
}
