/**
 * Prepares a Temporal server: the namespace with its retention, and what belongs into it. Safe to run at any time and
 * from several processes; what already exists is left alone. The search attributes are in
 * prepare-search-attributes.ts, the schedules in schedules.ts.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { msToTs } from '@temporalio/common/lib/time.js';
import type { NativeConnection } from '@temporalio/worker';
import type { TemporalConfig } from '../config/connections.ts';
import type { Logger } from '../telemetry/log.ts';
import { namespaceStep, retentionStep, searchAttributesStep } from './manual-steps.ts';
import type { ManualStep } from './manual-steps.ts';
import { ensureSearchAttributes } from './prepare-search-attributes.ts';
import { grpcCode, isForbidden } from './grpc-rejections.ts';
import { SEARCH_ATTRIBUTES } from './search-attributes.ts';

/**
 * How many days Temporal retains closed workflows: long enough to investigate a complaint. The record of tasks is in
 * PostgreSQL.
 */
const RETENTION_DAYS = 30;
const RETENTION_MS = RETENTION_DAYS * 86_400_000;

const NAMESPACE_KNOWN_WITHIN_MS = 30_000;

/** gRPC status codes. */
const ALREADY_EXISTS = 6;
const NOT_FOUND = 5;

export interface PreparedNamespace {
  /** Whether there is a namespace that our credentials may use. */
  readonly isUsable: boolean;
  readonly steps: readonly ManualStep[];
}

/**
 * Creates whatever is missing.
 *
 * @returns the steps that an operator has to do, because our credentials do not allow them: on Temporal Cloud, where
 *   namespaces and search attributes are created elsewhere, or with a server that uses authorization.
 * @throws {ManualStepsError} if the namespace cannot be used as it is; nothing is added to it then.
 */
export async function prepareNamespace(
  connection: NativeConnection,
  config: TemporalConfig,
  logger: Logger,
): Promise<PreparedNamespace> {
  const step = await ensureNamespace(connection, config, logger);
  if (step !== undefined) {
    return { isUsable: false, steps: [step, searchAttributesStep(config, Object.keys(SEARCH_ATTRIBUTES))] };
  }
  const steps = await whenKnown(() => ensureSearchAttributes(connection, config, logger));
  return { isUsable: true, steps };
}

/** A new namespace becomes visible to every part of the server after some seconds (its cache's refresh interval). */
async function whenKnown<T>(work: () => Promise<T>): Promise<T> {
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

async function ensureNamespace(
  connection: NativeConnection,
  config: TemporalConfig,
  logger: Logger,
): Promise<ManualStep | undefined> {
  const { namespace } = config;
  try {
    await ensureRetention(connection, config, logger);
    return undefined;
  } catch (error) {
    if (isForbidden(error))
      return (await isUsable(connection, namespace)) ? undefined : namespaceStep(config, RETENTION_DAYS);
    if (grpcCode(error) !== NOT_FOUND) throw error;
  }
  try {
    await connection.workflowService
      .registerNamespace({ namespace, workflowExecutionRetentionPeriod: msToTs(RETENTION_MS) })
      .catch(unless(ALREADY_EXISTS));
  } catch (error) {
    if (isForbidden(error)) return namespaceStep(config, RETENTION_DAYS);
    throw error;
  }
  logger.info({ namespace, retentionDays: RETENTION_DAYS }, 'namespace created');
  return undefined;
}

/** Raises the retention if it is shorter; if that is forbidden, a warning is enough: tasks do not need it. */
async function ensureRetention(connection: NativeConnection, config: TemporalConfig, logger: Logger): Promise<void> {
  const { namespace } = config;
  const described = await connection.workflowService.describeNamespace({ namespace });
  const current = Number(described.config?.workflowExecutionRetentionTtl?.seconds ?? 0);
  if (current * 1000 >= RETENTION_MS) return;
  try {
    await connection.workflowService.updateNamespace({
      namespace,
      config: { workflowExecutionRetentionTtl: msToTs(RETENTION_MS) },
    });
    logger.info({ namespace, retentionDays: RETENTION_DAYS }, 'retention of the namespace raised');
  } catch (error) {
    if (!isForbidden(error)) throw error;
    const { command } = retentionStep(config, RETENTION_DAYS);
    logger.warn({ namespace, command }, 'the credentials do not permit raising the retention of the namespace');
  }
}

/** Whether our credentials may at least read its contents. */
async function isUsable(connection: NativeConnection, namespace: string): Promise<boolean> {
  try {
    await connection.workflowService.countWorkflowExecutions({ namespace, query: '' });
    return true;
  } catch (error) {
    if (isForbidden(error) || grpcCode(error) === NOT_FOUND) return false;
    throw error;
  }
}

function unless(code: number): (error: unknown) => void {
  return (error) => {
    if (grpcCode(error) !== code) throw error;
  };
}
