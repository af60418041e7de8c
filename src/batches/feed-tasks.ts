/** Makes tasks of lines, in the transaction that moves the batch's pointer over them. */
import type { Caller } from '../accounts/authenticate.ts';
import type { Queryable } from '../database/database.ts';
import { DarkroomError, factsOf } from '../domain/darkroom-error.ts';
import { isAcceptance } from '../tasks/create/accept-many.ts';
import type { AlongsideAccepting, ManyOutcome } from '../tasks/create/accept-many.ts';
import { QueueFullError } from '../tasks/create/accept.ts';
import type { CreateItem } from '../tasks/create/create-many.ts';
import type { Batch } from './batch-record.ts';
import type { BatchContext, LineTask, TaskEndpoint } from './context.ts';
import type { InputLine } from './input-lines.ts';
import { lineKey, parseLine } from './line.ts';
import { lockForFeeding, recordFed } from './record-fed.ts';

/** The rate limit of requests is not for lines: their pace is that at which tasks end. */
const WITHOUT_LIMIT = (): Promise<number> => Promise.resolve(0);

/** A line that is about to be fed. */
interface FedLine {
  readonly line: InputLine;
  readonly task: LineTask | undefined;
  readonly item: CreateItem;
}

/**
 * @param caller why the key may make no requests, if it may not.
 * @returns how many lines were fed: fewer if the queue of the account is full. @throws {OvertakenError}
 */
export async function feedTasks(
  context: BatchContext,
  batch: Batch,
  endpoint: TaskEndpoint,
  caller: Caller | DarkroomError,
  lines: readonly InputLine[],
): Promise<number> {
  const prepared: FedLine[] = [];
  for (const line of lines) {
    await context.nextTurn();
    prepared.push(await prepare(endpoint, caller, batch, line));
  }
  let fed = 0;
  await create(context, caller, prepared, {
    begin: (transaction) => lockForFeeding(transaction, batch),
    async end(transaction, outcomes) {
      fed = await record(transaction, batch, endpoint, prepared, outcomes);
    },
  });
  return fed;
}

async function prepare(
  endpoint: TaskEndpoint,
  caller: Caller | DarkroomError,
  batch: Batch,
  line: InputLine,
): Promise<FedLine> {
  const rejected = (problem: DarkroomError): FedLine => ({
    line,
    task: undefined,
    item: { body: {}, idempotencyKey: undefined, problem },
  });
  const { body, problem } = parseLine(line, batch.endpoint);
  if (problem !== undefined) return rejected(problem);
  if (caller instanceof DarkroomError) return rejected(caller);
  try {
    const task = await endpoint.taskOf(caller, body);
    return { line, task, item: { body: task.body, idempotencyKey: lineKey(batch.id, line.index), batchId: batch.id } };
  } catch (error) {
    if (error instanceof DarkroomError && factsOf(error.kind).status < 500) return rejected(error);
    throw error;
  }
}

async function create(
  context: BatchContext,
  caller: Caller | DarkroomError,
  lines: readonly FedLine[],
  recording: AlongsideAccepting,
): Promise<void> {
  if (caller instanceof DarkroomError) {
    await context.database.transaction(async (transaction) => {
      await recording.begin(transaction);
      await recording.end(
        transaction,
        lines.map(({ item }) => item.problem ?? caller),
      );
    });
    return;
  }
  const items = lines.map(({ item }) => item);
  const nextTurn = (): Promise<void> => context.nextTurn();
  const outcomes = await context.taskCreator.createMany(caller, items, WITHOUT_LIMIT, nextTurn, recording);
  context.wakeLauncher();
  for (const outcome of outcomes) {
    if (isAcceptance(outcome) && outcome.claimed !== undefined) context.wakeLauncher(outcome.claimed);
  }
}

/** @returns how many lines were fed. */
async function record(
  transaction: Queryable,
  batch: Batch,
  endpoint: TaskEndpoint,
  lines: readonly FedLine[],
  outcomes: readonly ManyOutcome[],
): Promise<number> {
  const full = outcomes.findIndex((outcome) => outcome instanceof QueueFullError);
  const fed = full < 0 ? lines : lines.slice(0, full);
  const last = fed.at(-1)?.line;
  if (last === undefined) return 0;
  const rejections = fed.flatMap(({ line, task }, index) => {
    const outcome = outcomes[index];
    if (outcome === undefined || isAcceptance(outcome)) return [];
    return [{ line: line.index, response: endpoint.reject(task?.translate(outcome) ?? outcome) }];
  });
  await recordFed(transaction, batch, last, rejections);
  return fed.length;
}
