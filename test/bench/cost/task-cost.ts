/**
 * What one task costs, over a window of tasks whose clients wait for their end: processor time by process, what
 * PostgreSQL does, and what stays in Temporal. The yardstick is raw Temporal's minimal workflow on the same server.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Side, Stage } from '../stage/stage.ts';
import { databaseCostOf } from './database-cost.ts';
import type { StatementCost } from './database-cost.ts';
import { historyCostOf } from './history-cost.ts';
import type { HistoryCost } from './history-cost.ts';
import { processorMsOfEach } from './processor-time.ts';

export const PARTS = ['api', 'worker', 'temporal', 'postgres', 'clients'] as const;
export type Part = (typeof PARTS)[number];

const WORKFLOW_TYPE: Readonly<Record<Side, string>> = { ours: 'mediaTask', raw: 'oneActivity' };
/** What was begun in a window may end a little later: the outbox is cleared, statistics are written. */
const AFTERMATH_MS = 500;

/** Everything is per task. */
export interface TaskCost {
  readonly side: Side;
  readonly round: number;
  readonly tasks: number;
  readonly processorMs: Readonly<Record<Part, number>>;
  readonly statements: number;
  readonly walBytes: number;
  readonly history: HistoryCost;
  readonly byStatement: readonly StatementCost[];
}

/** Everything is per second. */
export interface IdleCost {
  readonly side: Side;
  readonly round: number;
  readonly processorMs: Readonly<Record<Part, number>>;
  readonly statements: number;
  readonly walBytes: number;
}

export interface CostWindow {
  readonly round: number;
  readonly clients: number;
  readonly seconds: number;
}

/** The workers of the side must run. */
export async function taskCostOf(stage: Stage, side: Side, { round, clients, seconds }: CostWindow): Promise<TaskCost> {
  let tasks = 0;
  const { database, processorMs } = await costOf(stage, side, async () => {
    ({ operations: tasks } = await stage.run(side, { operation: 'wait', clients, seconds }));
    await sleep(AFTERMATH_MS);
  });
  return {
    side,
    round,
    tasks,
    processorMs: each((part) => processorMs[part] / tasks),
    statements: database.statements.reduce((sum, { calls }) => sum + calls, 0) / tasks,
    walBytes: database.walBytes / tasks,
    history: await historyCostOf(stage.temporalAddress, WORKFLOW_TYPE[side]),
    byStatement: database.statements.map(({ text, calls, walBytes, executionMs }) => ({
      text,
      calls: calls / tasks,
      walBytes: walBytes / tasks,
      executionMs: executionMs / tasks,
    })),
  };
}

/** What the same processes cost while there is nothing to do. */
export async function idleCostOf(stage: Stage, side: Side, round: number, seconds: number): Promise<IdleCost> {
  const { database, processorMs } = await costOf(stage, side, () => sleep(seconds * 1_000));
  return {
    side,
    round,
    processorMs: each((part) => processorMs[part] / seconds),
    statements: database.statements.reduce((sum, { calls }) => sum + calls, 0) / seconds,
    walBytes: database.walBytes / seconds,
  };
}

async function costOf(stage: Stage, side: Side, work: () => Promise<unknown>) {
  const pids = pidsOf(stage, side);
  const before = await processorMsOfEach(pids);
  const database = await databaseCostOf(stage.database, async () => void (await work()));
  const after = await processorMsOfEach(pids);
  return { database, processorMs: each((_, index) => (after[index] ?? 0) - (before[index] ?? 0)) };
}

/** In the order of `PARTS`. */
function pidsOf(stage: Stage, side: Side): readonly number[] {
  const names: Readonly<Record<Part, string>> = {
    api: 'api',
    worker: `${side}-worker`,
    temporal: 'temporal',
    postgres: 'postgres',
    clients: side === 'ours' ? 'our-clients' : 'raw-clients',
  };
  const { pids } = stage;
  return PARTS.map((part) => {
    const pid = pids.get(names[part]);
    if (pid === undefined) throw new Error(`${names[part]} does not run`);
    return pid;
  });
}

function each(value: (part: Part, index: number) => number): Readonly<Record<Part, number>> {
  const [api, worker, temporal, postgres, clients] = PARTS.map(value);
  return {
    api: api ?? 0,
    worker: worker ?? 0,
    temporal: temporal ?? 0,
    postgres: postgres ?? 0,
    clients: clients ?? 0,
  };
}
