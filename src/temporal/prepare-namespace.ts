/**
 * Makes a Temporal server ready for us: the namespace with its retention, the search attributes, the schedules. Safe to
 * run at any time and from several processes; what is there already is left alone.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { ScheduleAlreadyRunning, ScheduleOverlapPolicy } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import type { Duration } from '@temporalio/common';
import { msToTs } from '@temporalio/common/lib/time.js';
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

/** Creates the schedules that do not exist yet. */
export async function ensureSchedules(client: Client): Promise<void> {
  await Promise.all(SCHEDULES.map((schedule) => ensureSchedule(client, schedule)));
}

async function ensureSchedule(client: Client, { every, offset, workflowType, ...rest }: OwnSchedule): Promise<void> {
  await client.schedule
    .create({
      scheduleId: rest.scheduleId,
      spec: { intervals: [{ every, ...(offset === undefined ? {} : { offset }) }] },
      action: { type: 'startWorkflow', workflowType, taskQueue: TASK_QUEUES.media, args: [...rest.args] },
      // A pass that was missed is made up for by the next one.
      policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1 minute' },
      memo: { purpose: rest.purpose },
    })
    .catch((error: unknown) => {
      if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    });
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
