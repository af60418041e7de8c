/** The costs of a run as tables: the medians of its rounds. */
import { median } from '../measures.ts';
import { columns } from '../report.ts';
import { PARTS } from './task-cost.ts';
import type { IdleCost, Part, TaskCost } from './task-cost.ts';

const MOST_STATEMENTS = 15;
const STATEMENT_WIDTH = 90;
const NAMES: Readonly<Record<Part, string>> = {
  api: 'api',
  worker: 'worker',
  temporal: 'Temporal',
  postgres: 'PostgreSQL',
  clients: 'clients',
};

type Figure<Cost> = readonly [name: string, unit: string, of: (cost: Cost) => number];

export interface CostRow {
  readonly name: string;
  readonly unit: string;
  readonly ours: number;
  readonly raw: number;
  readonly ratio: number;
}

const TASK_FIGURES: readonly Figure<TaskCost>[] = [
  ...PARTS.map(processorFigure),
  ['processor, api to PostgreSQL', 'ms', ({ processorMs }) => withoutClients(processorMs)],
  ['statements', '', ({ statements }) => statements],
  ['write-ahead log', 'kB', ({ walBytes }) => walBytes / 1_000],
  ['history events', '', ({ history }) => history.events],
  ['history size', 'kB', ({ history }) => history.bytes / 1_000],
  ['state transitions', '', ({ history }) => history.stateTransitions],
];

const IDLE_FIGURES: readonly Figure<IdleCost>[] = [
  ...PARTS.map(processorFigure),
  ['processor, api to PostgreSQL', 'ms', ({ processorMs }) => withoutClients(processorMs)],
  ['statements', '', ({ statements }) => statements],
  ['write-ahead log', 'kB', ({ walBytes }) => walBytes / 1_000],
];

export function taskRows(costs: readonly TaskCost[]): readonly CostRow[] {
  return rowsOf(TASK_FIGURES, costs);
}

export function idleRows(costs: readonly IdleCost[]): readonly CostRow[] {
  return rowsOf(IDLE_FIGURES, costs);
}

export function costTable(heading: string, rows: readonly CostRow[]): string {
  const cell = (value: number, unit: string): string => `${value.toFixed(1)} ${unit}`.trimEnd();
  return columns([
    [heading, 'ours', 'raw Temporal', 'ratio'],
    ...rows.map(({ name, unit, ours, raw, ratio }) => [
      name,
      cell(ours, unit),
      cell(raw, unit),
      // Raw Temporal uses neither the api nor PostgreSQL: what these do meanwhile is no yardstick.
      raw > ours / 100 ? ratio.toFixed(2) : '-',
    ]),
  ]);
}

/** The statements of a task that are executed most. @param costs of our side. */
export function statementTable(costs: readonly TaskCost[]): string {
  const last = costs.at(-1);
  const rows = (last?.byStatement ?? [])
    .slice(0, MOST_STATEMENTS)
    .map(({ text, calls, walBytes, executionMs }) => [
      calls.toFixed(2),
      `${(walBytes / 1_000).toFixed(2)} kB`,
      `${executionMs.toFixed(3)} ms`,
      text.replaceAll(/\s+/g, ' ').slice(0, STATEMENT_WIDTH),
    ]);
  return columns([['calls', 'log', 'execution', 'statement, per task in the last round'], ...rows]);
}

function rowsOf<Cost extends { readonly side: 'ours' | 'raw' }>(
  figures: readonly Figure<Cost>[],
  costs: readonly Cost[],
): readonly CostRow[] {
  return figures.map(([name, unit, of]) => {
    const [ours, raw] = (['ours', 'raw'] as const).map((side) =>
      median(costs.filter((cost) => cost.side === side).map(of)),
    );
    if (ours === undefined || raw === undefined) throw new Error('a side is missing');
    return { name, unit, ours, raw, ratio: ours / raw };
  });
}

function processorFigure(part: Part): Figure<Pick<TaskCost, 'processorMs'>> {
  return [`processor, ${NAMES[part]}`, 'ms', ({ processorMs }) => processorMs[part]];
}

function withoutClients(processorMs: TaskCost['processorMs']): number {
  return PARTS.filter((part) => part !== 'clients').reduce((sum, part) => sum + processorMs[part], 0);
}
