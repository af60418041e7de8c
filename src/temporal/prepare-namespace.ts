/**
 * Makes a Temporal server ready for us: the namespace with its retention, the search attributes, the schedules. Safe to
 * run at any time and from several processes; what is there already is left alone, but for schedules that an earlier
 * release defined otherwise.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { ScheduleAlreadyRunning, ScheduleOverlapPolicy } from '@temporalio/client';
import type { Client, ScheduleDescription, ScheduleOptions } from '@temporalio/client';
import type { Duration } from '@temporalio/common';
import { msToNumber, msToTs } from '@temporalio/common/lib/time.js';
import type { NativeConnection } from '@temporalio/worker';
import type { TemporalConfig } from '../config/config.ts';
import { TASK_QUEUES } from '../domain/workflow-ids.ts';
import type { Logger } from '../telemetry/log.ts';
import { SEARCH_ATTRIBUTES } from './search-attributes.ts';

/** Long enough to look into a complaint; the record of tasks is PostgreSQL's, not this. */
const RETENTION_DAYS = 30;
const SECONDS_PER_DAY = 86_400;

const NAMESPACE_KNOWN_WITHIN_MS = 30_000;

/** gRPC status codes. */
const ALREADY_EXISTS = 6;
const NOT_FOUND = 5;
const PERMISSION_DENIED = 7;
const UNIMPLEMENTED = 12;

/** temporal.api.enums.v1.IndexedValueType: KEYWORD. */
const KEYWORD = 2;

/** Creates what is missing. On Temporal Cloud, where namespaces are made elsewhere, says what it could not do. */
export async function prepareNamespace(
  connection: NativeConnection,
  config: TemporalConfig,
  logger: Logger,
): Promise<void> {
  await ensureNamespace(connection, config, logger);
  await whenKnown(() => ensureSearchAttributes(connection, config, logger));
}

/** A namespace just made is known to every part of the server after some seconds (its cache's refresh interval). */
async function whenKnown(work: () => Promise<void>): Promise<void> {
  const deadline = Date.now() + NAMESPACE_KNOWN_WITHIN_MS;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (grpcCode(error) !== NOT_FOUND || Date.now() > deadline) throw error;
      await sleep(100);
    }
  }
}

async function ensureNamespace(connection: NativeConnection, config: TemporalConfig, logger: Logger): Promise<void> {
  const { namespace } = config;
  const retentionSeconds = RETENTION_DAYS * SECONDS_PER_DAY;
  const retention = msToTs(retentionSeconds * 1000);
  try {
    const described = await connection.workflowService.describeNamespace({ namespace });
    const current = Number(described.config?.workflowExecutionRetentionTtl?.seconds ?? 0);
    if (current >= retentionSeconds) return;
    await connection.workflowService.updateNamespace({
      namespace,
      config: { workflowExecutionRetentionTtl: retention },
    });
    logger.info({ namespace, retentionDays: RETENTION_DAYS }, 'the retention of the namespace was raised');
  } catch (error) {
    const code = grpcCode(error);
    if (code === PERMISSION_DENIED || code === UNIMPLEMENTED) {
      logger.warn({ namespace }, 'the retention of the namespace cannot be changed from here; 30 days are recommended');
      return;
    }
    if (code !== NOT_FOUND) throw error;
    await connection.workflowService
      .registerNamespace({ namespace, workflowExecutionRetentionPeriod: retention })
      .catch(unless(ALREADY_EXISTS));
    logger.info({ namespace, retentionDays: RETENTION_DAYS }, 'the namespace was created');
  }
}

async function ensureSearchAttributes(
  connection: NativeConnection,
  config: TemporalConfig,
  logger: Logger,
): Promise<void> {
  const { namespace } = config;
  try {
    const listed = await connection.operatorService.listSearchAttributes({ namespace });
    const missing = Object.keys(SEARCH_ATTRIBUTES).filter((name) => listed.customAttributes?.[name] === undefined);
    if (missing.length === 0) return;
    await connection.operatorService
      .addSearchAttributes({
        namespace,
        searchAttributes: Object.fromEntries(missing.map((name) => [name, KEYWORD])),
      })
      .catch(unless(ALREADY_EXISTS));
    logger.info({ namespace, attributes: missing }, 'search attributes were added');
  } catch (error) {
    const code = grpcCode(error);
    if (code !== PERMISSION_DENIED && code !== UNIMPLEMENTED) throw error;
    logger.warn(
      { namespace, attributes: Object.keys(SEARCH_ATTRIBUTES) },
      'search attributes cannot be listed or added from here; add these by hand, all of type Keyword',
    );
  }
}

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

/**
 * Creates the schedules that do not exist yet, and updates those that were made with another definition, by an earlier
 * release. Whether one is paused stays as its operator left it.
 *
 * @returns the ids of those that were updated.
 */
export async function ensureSchedules(client: Client): Promise<readonly string[]> {
  const updated = await Promise.all(SCHEDULES.map((schedule) => ensureSchedule(client, schedule)));
  return SCHEDULE_IDS.filter((_id, position) => updated[position] === true);
}

/** @returns whether it existed with another definition. */
async function ensureSchedule(client: Client, { scheduleId, purpose, ...rest }: OwnSchedule): Promise<boolean> {
  const definition = definitionOf(rest);
  try {
    await client.schedule.create({ scheduleId, ...definition, memo: { purpose } });
    return false;
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
  }
  const handle = client.schedule.getHandle(scheduleId);
  if (isDefinedAs(await handle.describe(), definition)) return false;
  await handle.update(({ state, policies }) => ({
    ...definition,
    policies: { ...definition.policies, pauseOnFailure: policies.pauseOnFailure },
    state,
  }));
  return true;
}

function definitionOf({ every, offset, workflowType, args }: Omit<OwnSchedule, 'scheduleId' | 'purpose'>) {
  return {
    spec: { intervals: [{ every, ...(offset === undefined ? {} : { offset }) }] },
    action: { type: 'startWorkflow', workflowType, taskQueue: TASK_QUEUES.media, args: [...args] },
    // A pass that was missed is made up for by the next one.
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1 minute' },
  } satisfies Pick<ScheduleOptions, 'spec' | 'action' | 'policies'>;
}

/** Whether a schedule of the server does what the definition says; both in the form that the server gives back. */
function isDefinedAs(
  description: ScheduleDescription,
  { spec, action, policies }: ReturnType<typeof definitionOf>,
): boolean {
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

function grpcCode(error: unknown): number | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'number' ? code : undefined;
}

function unless(code: number): (error: unknown) => void {
  return (error) => {
    if (grpcCode(error) !== code) throw error;
  };
}
