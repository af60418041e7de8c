/**
 * Adds the search attributes that are missing in a namespace. Their names are generic and may already be in use, so one
 * of another type stops `migrate`: the server would reject every start that sets it.
 */
import type { NativeConnection } from '@temporalio/worker';
import type { TemporalConfig } from '../config/connections.ts';
import type { Logger } from '../telemetry/log.ts';
import { ManualStepsError, conflictStep, listTypesStep, searchAttributesStep } from './manual-steps.ts';
import type { ManualStep } from './manual-steps.ts';
import { grpcCode, isForbidden, rejectionOf } from './grpc-rejections.ts';
import { SEARCH_ATTRIBUTES } from './search-attributes.ts';

/** temporal.api.enums.v1.IndexedValueType, by its numbers. */
const TYPES = ['Unspecified', 'Text', 'Keyword', 'Int', 'Double', 'Bool', 'Datetime', 'KeywordList'];
const KEYWORD = TYPES.indexOf('Keyword');

/** gRPC status code. */
const ALREADY_EXISTS = 6;

/**
 * @returns the steps that an operator has to do, because our credentials do not allow them.
 * @throws {ManualStepsError} some exist with another type. Nothing was added: the namespace belongs to another
 *   program.
 */
export async function ensureSearchAttributes(
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
