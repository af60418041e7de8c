/** The result of the capacity bench as tables. */
import { columns } from '../report.ts';
import type { WindowUsage } from './installation.ts';
import { PARTS, totalOf } from './model.ts';
import type { ByPart, Coefficients } from './model.ts';
import type { Processes, Workload } from './workload.ts';

const HEADINGS = ['api', 'worker', 'Temporal', 'PostgreSQL', 'all'];

const NAMES: Readonly<Record<keyof Coefficients, string>> = {
  idleSecond: 'an api and a worker, a second',
  answeredTask: 'a task that is answered with its bytes',
  polledTask: 'a task whose job is polled',
  answeredWorkSecond: '  each second until it is answered',
  polledWorkSecond: '  each second that it is polled',
  callback: 'a callback',
  answeredMegabyte: 'a megabyte of an answer',
  polledMegabyte: 'a megabyte that is fetched',
  waitingSecond: 'a waiting client, a second',
};

/** One mixture: what the model says, and what was measured; milliseconds of processor time in a second. */
export interface Validation {
  readonly workload: Workload;
  readonly processes: Processes;
  readonly measured: ByPart;
  readonly predicted: ByPart;
  readonly usage: WindowUsage;
}

export function windowTable(windows: readonly (readonly [Workload, WindowUsage])[]): string {
  return columns([
    ['window', 'tasks/s', 'statements a task', 'log a task', 'create to success, without the work'],
    ...windows.map(([{ name }, { tasks, seconds, statements, walBytes, medianOverheadMs }]) =>
      tasks === 0
        ? [name, '0', '', '', '']
        : [
            name,
            (tasks / seconds).toFixed(1),
            (statements / tasks).toFixed(1),
            `${(walBytes / tasks / 1_000).toFixed(1)} kB`,
            `${medianOverheadMs.toFixed(0)} ms`,
          ],
    ),
  ]);
}

export function coefficientTable(coefficients: Coefficients): string {
  return columns([
    ['processor time, ms', ...HEADINGS],
    ...(Object.keys(NAMES) as (keyof Coefficients)[]).map((name) => [
      NAMES[name],
      ...cells(coefficients[name], name === 'waitingSecond' ? 4 : 1),
    ]),
  ]);
}

export function validationTable(validations: readonly Validation[]): string {
  return columns([
    ['ms of processor time a second', ...HEADINGS],
    ...validations.flatMap(({ workload, measured, predicted }) => [
      [`${workload.name}: predicted`, ...cells(predicted, 0)],
      ['  measured', ...cells(measured, 0)],
      ['  predicted / measured', ...ratios(predicted, measured)],
    ]),
  ]);
}

function cells(parts: ByPart, digits: number): readonly string[] {
  return [...PARTS.map((part) => parts[part]), totalOf(parts)].map((value) => value.toFixed(digits));
}

function ratios(predicted: ByPart, measured: ByPart): readonly string[] {
  const each = PARTS.map((part) => predicted[part] / measured[part]);
  return [...each, totalOf(predicted) / totalOf(measured)].map((value) => value.toFixed(2));
}
