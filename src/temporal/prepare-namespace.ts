/**
 * Prepares a Temporal server: the namespace with its retention, and its search attributes. Safe to run at any time and
 * from several processes; what already exists is left alone. The schedules are in schedules.ts.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { msToTs } from '@temporalio/common/lib/time.js';
import type { NativeConnection } from '@temporalio/worker';
import type { TemporalConfig } from '../config/connections.ts';
import type { Logger } from '../telemetry/log.ts';
import {
  ManualStepsError,
  conflictStep,
  listTypesStep,
  namespaceStep,
  retentionStep,
  searchAttributesStep,
} from './manual-steps.ts';
import type { ManualStep } from './manual-steps.ts';
import { grpcCode, isForbidden, rejectionOf } from './rejections.ts';
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

/** temporal.api.enums.v1.IndexedValueType, by its numbers. */
const TYPES = ['Unspecified', 'Text', 'Keyword', 'Int', 'Double', 'Bool', 'Datetime', 'KeywordList'];
const KEYWORD = TYPES.indexOf('Keyword');

/**
 * Adds the search attributes that are missing in a namespace. Their names are generic and may already be in use, so one
 * of another type stops `migrate`: the server would reject every start that sets it.
 *
 * @returns the steps that an operator has to do, because our credentials do not allow them.
 * @throws {ManualStepsError} some exist with another type. Nothing was added: the namespace belongs to another
 *   program.
 */
async function ensureSearchAttributes(
  connection: NativeConnection,
  config: TemporalConfig,
  logger: Logger,
): Promise<readonly ManualStep[]> {
  const { namespace } = config;
  const types = await listedTypes(connection, namespace);
  if (types !== undefined) rejectOtherTypes(config, types);
  const missing = await missingSearchAttributes(connection, namespace, types);
  if (types === undefined) warnOfUnseenTypes(config, logger);
  if (missing.length === 0) return [];
  try {
    await connection.operatorService.addSearchAttributes({
      namespace,
      searchAttributes: Object.fromEntries(missing.map((name) => [name, KEYWORD])),
    });
  } catch (error) {
    if (isForbidden(error)) return [searchAttributesStep(config, missing)];
    // Another process has just added them.
    if (grpcCode(error) !== ALREADY_EXISTS) throw error;
  }
  logger.info({ namespace, attributes: missing }, 'search attributes added');
  return [];
}

/** By their names; undefined: our credentials may not list them. */
type ListedTypes = Readonly<Record<string, number>> | undefined;

async function listedTypes(connection: NativeConnection, namespace: string): Promise<ListedTypes> {
  try {
    return (await connection.operatorService.listSearchAttributes({ namespace })).customAttributes ?? {};
  } catch (error) {
    if (isForbidden(error)) return undefined;
    throw error;
  }
}

function warnOfUnseenTypes(config: TemporalConfig, logger: Logger): void {
  const { command } = listTypesStep(config);
  logger.warn({ namespace: config.namespace, command }, 'the types of the search attributes cannot be seen from here');
}

function rejectOtherTypes(config: TemporalConfig, types: Readonly<Record<string, number>>): void {
  const steps = Object.entries(SEARCH_ATTRIBUTES).flatMap(([name, expected]) => {
    const number = types[name];
    const type = number === undefined ? expected : (TYPES[number] ?? `number ${number}`);
    return type === expected ? [] : [conflictStep(config, { name, type, expected })];
  });
  if (steps.length === 0) return;
  throw new ManualStepsError(
    steps,
    `search attributes of the namespace ${config.namespace} have another type than ours of the same name, and every ` +
      'start would be rejected. Set TEMPORAL_NAMESPACE to another namespace; or, only if they are not needed any more, ' +
      'run what follows, and then `migrate` again',
  );
}

/** If they may not be listed, each is tried in a query. */
async function missingSearchAttributes(
  connection: NativeConnection,
  namespace: string,
  types: ListedTypes,
): Promise<readonly string[]> {
  const names = Object.keys(SEARCH_ATTRIBUTES);
  if (types !== undefined) return names.filter((name) => types[name] === undefined);
  const isMissing = await Promise.all(names.map((name) => isUnknownInQueries(connection, namespace, name)));
  return names.filter((_name, position) => isMissing[position]);
}

async function isUnknownInQueries(connection: NativeConnection, namespace: string, name: string): Promise<boolean> {
  try {
    await connection.workflowService.countWorkflowExecutions({ namespace, query: `${name} = 'x'` });
    return false;
  } catch (error) {
    if (rejectionOf(error) === 'invalid_argument') return true;
    throw error;
  }
}
