/** The schedules of the workflows that keep the service in order: made by `migrate`, and brought up to date by it. */
import { isDeepStrictEqual } from 'node:util';
import { ScheduleAlreadyRunning, ScheduleNotFoundError, ScheduleOverlapPolicy } from '@temporalio/client';
import type { Client, ScheduleDescription, ScheduleOptions } from '@temporalio/client';
import type { Duration } from '@temporalio/common';
import { msToNumber } from '@temporalio/common/lib/time.js';
import { TASK_QUEUES } from '../domain/workflow-ids.ts';
import type { ForbiddenSchedule } from './manual-steps.ts';
import { isForbidden } from './refusals.ts';

interface OwnSchedule {
  readonly scheduleId: string;
  readonly every: Duration;
  /** Of each interval, from midnight UTC on. */
  readonly offset?: Duration;
  readonly workflowType: string;
  readonly args: readonly unknown[];
  readonly purpose: string;
}

/** Each is safe to run twice and at any time (architecture, "Repair is part of the design"). */
const SCHEDULES: readonly OwnSchedule[] = [
  {
    scheduleId: 'darkroom-reconcile',
    every: '60 seconds',
    workflowType: 'reconcile',
    args: [],
    purpose: 'ends tasks whose workflow is gone, and restarts those that have none',
  },
  {
    scheduleId: 'darkroom-expire-outputs',
    every: '60 seconds',
    workflowType: 'expireOutputs',
    args: [],
    purpose: 'writes down what is kept no longer, and asks again for promotions that nobody works on',
  },
  {
    scheduleId: 'darkroom-sweep-deleted',
    every: '60 seconds',
    workflowType: 'sweepObjects',
    args: [{ target: 'deleted' }],
    purpose: 'deletes the bytes of what is gone',
  },
  {
    scheduleId: 'darkroom-sweep-unnamed',
    every: '60 minutes',
    offset: '20 minutes',
    workflowType: 'sweepObjects',
    args: [{ target: 'unnamed' }],
    purpose: 'deletes objects that nothing names',
  },
  {
    scheduleId: 'darkroom-meter-storage',
    every: '60 minutes',
    // A day is metered when its last transactions are in (billing/storage-metering.ts).
    offset: '5 minutes',
    workflowType: 'meterStorage',
    args: [],
    purpose: 'books persistent storage for the days that have ended',
  },
];

/** The ids of our schedules, for whoever takes an installation down. */
export const SCHEDULE_IDS: readonly string[] = SCHEDULES.map(({ scheduleId }) => scheduleId);

export interface EnsuredSchedules {
  /** The ids of those that were made with another definition. */
  readonly updated: readonly string[];
  /** What our credentials may not do. */
  readonly forbidden: readonly ForbiddenSchedule[];
}

/**
 * Creates the schedules that do not exist yet, and updates those that were made with another definition, by an earlier
 * release. Whether one is paused stays as its operator left it.
 */
export async function ensureSchedules(client: Client): Promise<EnsuredSchedules> {
  const outcomes = await Promise.all(SCHEDULES.map((schedule) => ensureSchedule(client, schedule)));
  return {
    updated: SCHEDULE_IDS.filter((_id, position) => outcomes[position] === 'updated'),
    forbidden: outcomes.filter((outcome) => typeof outcome === 'object'),
  };
}

/** All of them, where nothing of ours can be made. */
export function allSchedules(): readonly ForbiddenSchedule[] {
  return SCHEDULES.map((schedule) => forbidden('create', schedule));
}

async function ensureSchedule(
  client: Client,
  schedule: OwnSchedule,
): Promise<'updated' | 'as it was' | ForbiddenSchedule> {
  const { scheduleId, purpose, ...rest } = schedule;
  const definition = definitionOf(rest);
  const handle = client.schedule.getHandle(scheduleId);
  let isCreatable = true;
  try {
    await client.schedule.create({ scheduleId, ...definition, memo: { purpose } });
    return 'as it was';
  } catch (error) {
    isCreatable = !isForbidden(error);
    if (isCreatable && !(error instanceof ScheduleAlreadyRunning)) throw error;
  }
  try {
    if (isDefinedAs(await handle.describe(), definition)) return 'as it was';
  } catch (error) {
    if (!isCreatable && (error instanceof ScheduleNotFoundError || isForbidden(error)))
      return forbidden('create', schedule);
    throw error;
  }
  try {
    await handle.update(({ state, policies }) => ({
      ...definition,
      policies: { ...definition.policies, pauseOnFailure: policies.pauseOnFailure },
      state,
    }));
    return 'updated';
  } catch (error) {
    if (isForbidden(error)) return forbidden('update', schedule);
    throw error;
  }
}

function forbidden(verb: 'create' | 'update', schedule: OwnSchedule): ForbiddenSchedule {
  const { scheduleId, workflowType, args, every, offset } = schedule;
  const { action, policies } = definitionOf(schedule);
  const seconds = (duration: Duration): string => `${msToNumber(duration) / 1000}s`;
  return {
    verb,
    scheduleId,
    interval: offset === undefined ? seconds(every) : `${seconds(every)}/${seconds(offset)}`,
    catchupWindow: seconds(policies.catchupWindow),
    workflowType,
    taskQueue: action.taskQueue,
    args,
  };
}

type Definition = ReturnType<typeof definitionOf>;

function definitionOf({ every, offset, workflowType, args }: Omit<OwnSchedule, 'scheduleId' | 'purpose'>) {
  return {
    spec: { intervals: [{ every, ...(offset === undefined ? {} : { offset }) }] },
    action: { type: 'startWorkflow', workflowType, taskQueue: TASK_QUEUES.media, args: [...args] },
    // A pass that was missed is made up for by the next one.
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1 minute' },
  } satisfies Pick<ScheduleOptions, 'spec' | 'action' | 'policies'>;
}

/** Whether a schedule of the server does what the definition says; both in the form that the server gives back. */
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
