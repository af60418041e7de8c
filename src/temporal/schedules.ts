/** The schedules of the maintenance workflows: created and updated by `migrate`. */
import { isDeepStrictEqual } from 'node:util';
import { ScheduleAlreadyRunning, ScheduleNotFoundError, ScheduleOverlapPolicy } from '@temporalio/client';
import type { Client, ScheduleDescription, ScheduleOptions } from '@temporalio/client';
import type { Duration } from '@temporalio/common';
import { msToNumber } from '@temporalio/common/lib/time.js';
import type * as workflows from '../../workflows/index.ts';
import { taskQueueOf } from '../domain/workflow-ids.ts';
import type { ForbiddenSchedule } from './manual-steps.ts';
import { isForbidden } from './rejections.ts';

/** A workflow by its name, with its own arguments. */
type ScheduledWorkflow = {
  [Name in 'maintain' | 'sweepObjects' | 'meterStorage']: {
    readonly workflowType: Name;
    readonly args: Readonly<Parameters<(typeof workflows)[Name]>>;
  };
}['maintain' | 'sweepObjects' | 'meterStorage'];

interface ScheduleFacts {
  /** Appended to the id of the installation. */
  readonly name: string;
  readonly every: Duration;
  /** The offset within each interval; intervals start at midnight UTC. */
  readonly offset?: Duration;
  readonly purpose: string;
}

type OwnSchedule = ScheduleFacts & ScheduledWorkflow;

/** Each is safe to run twice and at any time (architecture, "Repair is part of the design"). */
const SCHEDULES: readonly OwnSchedule[] = [
  {
    name: 'maintain',
    every: '60 seconds',
    workflowType: 'maintain',
    args: [],
    purpose: 'repairs tasks whose workflow is gone, records what has expired, deletes the bytes of deleted objects',
  },
  {
    name: 'sweep-unnamed',
    every: '60 minutes',
    offset: '20 minutes',
    workflowType: 'sweepObjects',
    args: [{ target: 'unnamed' }],
    purpose: 'deletes unreferenced objects',
  },
  {
    name: 'meter-storage',
    every: '60 minutes',
    // A day is metered when its last transactions have been committed (billing/storage-metering.ts).
    offset: '5 minutes',
    workflowType: 'meterStorage',
    args: [],
    purpose: 'charges persistent storage for the days that have ended',
  },
];

/** The ids of an installation's schedules, for use when it is taken down. */
export function scheduleIds(installationId: string): readonly string[] {
  return SCHEDULES.map(({ name }) => scheduleId(installationId, name));
}

function scheduleId(installationId: string, name: string): string {
  return `${installationId}-${name}`;
}

export interface EnsuredSchedules {
  /** The ids of those that had another definition. */
  readonly updated: readonly string[];
  /** What our credentials do not allow. */
  readonly forbidden: readonly ForbiddenSchedule[];
}

/**
 * Creates the schedules that do not exist yet, and updates those that an earlier release created with another
 * definition. Whether one is paused stays as its operator left it.
 */
export async function ensureSchedules(client: Client, installationId: string): Promise<EnsuredSchedules> {
  const outcomes = await Promise.all(SCHEDULES.map((schedule) => ensureSchedule(client, installationId, schedule)));
  return {
    updated: scheduleIds(installationId).filter((_id, position) => outcomes[position] === 'updated'),
    forbidden: outcomes.filter((outcome) => typeof outcome === 'object'),
  };
}

/** All of them, if we may not create anything. */
export function allSchedules(installationId: string): readonly ForbiddenSchedule[] {
  return SCHEDULES.map((schedule) => forbidden('create', installationId, schedule));
}

async function ensureSchedule(
  client: Client,
  installationId: string,
  schedule: OwnSchedule,
): Promise<'updated' | 'as it was' | ForbiddenSchedule> {
  const { name, purpose, ...rest } = schedule;
  const id = scheduleId(installationId, name);
  const definition = definitionOf(installationId, rest);
  const handle = client.schedule.getHandle(id);
  let isCreatable = true;
  try {
    await client.schedule.create({ scheduleId: id, ...definition, memo: { purpose } });
    return 'as it was';
  } catch (error) {
    isCreatable = !isForbidden(error);
    if (isCreatable && !(error instanceof ScheduleAlreadyRunning)) throw error;
  }
  let description: ScheduleDescription;
  try {
    description = await handle.describe();
  } catch (error) {
    if (!isCreatable && (error instanceof ScheduleNotFoundError || isForbidden(error)))
      return forbidden('create', installationId, schedule);
    throw error;
  }
  if (isDefinedAs(description, definition)) return 'as it was';
  try {
    await handle.update(({ state, policies }) => ({
      ...definition,
      policies: { ...definition.policies, pauseOnFailure: policies.pauseOnFailure },
      state,
    }));
    return 'updated';
  } catch (error) {
    if (isForbidden(error)) return forbidden('update', installationId, schedule, description.state);
    throw error;
  }
}

/** @param state of the existing schedule: the command line would unpause it. */
function forbidden(
  verb: 'create' | 'update',
  installationId: string,
  schedule: OwnSchedule,
  state?: ScheduleDescription['state'],
): ForbiddenSchedule {
  const { name, workflowType, args, every, offset } = schedule;
  const { action, policies } = definitionOf(installationId, schedule);
  const seconds = (duration: Duration): string => `${msToNumber(duration) / 1000}s`;
  return {
    verb,
    scheduleId: scheduleId(installationId, name),
    interval: offset === undefined ? seconds(every) : `${seconds(every)}/${seconds(offset)}`,
    catchupWindow: seconds(policies.catchupWindow),
    workflowType,
    taskQueue: action.taskQueue,
    args,
    pauseNote: state?.paused === true ? (state.note ?? '') : undefined,
  };
}

type Definition = ReturnType<typeof definitionOf>;

function definitionOf(
  installationId: string,
  { every, offset, workflowType, args }: Pick<ScheduleFacts, 'every' | 'offset'> & ScheduledWorkflow,
) {
  return {
    spec: { intervals: [{ every, ...(offset === undefined ? {} : { offset }) }] },
    action: { type: 'startWorkflow', workflowType, taskQueue: taskQueueOf('media', installationId), args: [...args] },
    // A missed pass is made up for by the next one.
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1 minute' },
  } satisfies Pick<ScheduleOptions, 'spec' | 'action' | 'policies'>;
}

/** Whether a schedule of the server matches the definition; both in the form that the server returns. */
function isDefinedAs(description: ScheduleDescription, { spec, action, policies }: Definition): boolean {
  const found = description.action;
  return isDeepStrictEqual(
    {
      intervals: (description.spec.intervals ?? []).map(({ every, offset }) => [every, offset ?? 0]),
      calendars: description.spec.calendars?.length ?? 0,
      workflowType: found.workflowType,
      taskQueue: found.taskQueue,
      args: found.args ?? [],
      overlap: description.policies.overlap,
      catchupWindow: description.policies.catchupWindow,
    },
    {
      intervals: spec.intervals.map(({ every, offset }) => [msToNumber(every), msToNumber(offset ?? 0)]),
      calendars: 0,
      workflowType: action.workflowType,
      taskQueue: action.taskQueue,
      args: action.args,
      overlap: policies.overlap,
      catchupWindow: msToNumber(policies.catchupWindow),
    },
  );
}
