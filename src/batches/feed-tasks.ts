/** Makes tasks of lines, in the transaction that moves the batch's pointer over them. */
import type { WaitReason } from '@darkroom/api/openai/batches';
import type { Caller } from '../accounts/authenticate.ts';
import { waitReasonOf } from '../billing/ledger.ts';
import type { Queryable } from '../database/database.ts';
import { DarkroomError } from '../domain/darkroom-error.ts';
import { isAcceptance } from '../tasks/create/accept-many.ts';
import type { AlongsideAccepting, ManyOutcome } from '../tasks/create/accept-many.ts';
import type { CreateItem } from '../tasks/create/create-many.ts';
import type { Batch } from './batch-record.ts';
import type { BatchContext, LineTask, TaskEndpoint } from './context.ts';
import type { InputLine } from './input-lines.ts';
import { lineKey, parseLine } from './line.ts';
import { lockForFeeding, outcomeOf, recordFed } from './record-fed.ts';
import type { Fed } from './record-fed.ts';

/** The rate limit of requests is not for lines: their pace is that at which tasks end. */
const WITHOUT_LIMIT = (): Promise<number> => Promise.resolve(0);

/** A line that is about to be fed. */
interface FedLine {
  readonly line: InputLine;
  readonly task: LineTask | undefined;
  readonly item: CreateItem;
}

/** A line that has to wait, and with it those after it: nothing of this transaction is to remain. */
class WaitingLineError extends Error {
  /** How many lines are before it. */
  readonly before: number;
  readonly waitsFor: WaitReason;

  constructor(before: number, waitsFor: WaitReason) {
    super('a line has to wait');
    this.before = before;
    this.waitsFor = waitsFor;
  }
}

/**
 * @param caller why the key may make no requests any more, if it may not.
 * @returns fewer lines than there are if the next one has to wait. @throws {OvertakenError}
 */
export async function feedTasks(
  context: BatchContext,
  batch: Batch,
  endpoint: TaskEndpoint,
  caller: Caller | DarkroomError,
  lines: readonly InputLine[],
  signal: AbortSignal,
): Promise<Fed> {
  let fed: FedLine[] = [];
  let waitingFor: WaitReason | undefined;
  for (const line of lines) {
    await context.nextTurn();
    const prepared = await prepare(context, endpoint, caller, batch, line, signal);
    waitingFor = prepared.item.problem?.waitsFor;
    if (waitingFor !== undefined) break;
    fed.push(prepared);
  }
  while (fed.length > 0) {
    const these = fed;
    try {
      await create(context, caller, these, {
        begin: (transaction) => lockForFeeding(transaction, batch),
        end: (transaction, outcomes) => record(transaction, batch, endpoint, these, outcomes),
      });
      break;
    } catch (error) {
      if (!(error instanceof WaitingLineError)) throw error;
      waitingFor = error.waitsFor;
      fed = fed.slice(0, error.before);
    }
  }
  return { lines: fed.length, waitingFor };
}

async function prepare(
  context: BatchContext,
  endpoint: TaskEndpoint,
  caller: Caller | DarkroomError,
  batch: Batch,
  line: InputLine,
  signal: AbortSignal,
): Promise<FedLine> {
  const rejected = (problem: DarkroomError): FedLine => ({
    line,
    task: undefined,
    item: { body: {}, idempotencyKey: undefined, problem },
  });
  try {
    const { body, problem, isLarge, facts } = await parseLine(context, batch, line, 'task', signal);
    if (problem !== undefined) return rejected(problem);
    if (caller instanceof DarkroomError) return rejected(caller);
    const task = await endpoint.taskOf(caller, body);
    const nextTurn = (): Promise<void> => context.nextTurn();
    // Those of the line are not those of a body that was made of it.
    const large = isLarge ? { facts: task.body === body ? facts : undefined, nextTurn } : undefined;
    const idempotencyKey = lineKey(batch.id, line.index);
    return { line, task, item: { body: task.body, idempotencyKey, batchId: batch.id, large } };
  } catch (error) {
    return rejected(outcomeOf(error));
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

/** @throws {WaitingLineError} */
async function record(
  transaction: Queryable,
  batch: Batch,
  endpoint: TaskEndpoint,
  lines: readonly FedLine[],
  outcomes: readonly ManyOutcome[],
): Promise<void> {
  const rejections = lines.flatMap(({ line, task }, index) => {
    const outcome = outcomes[index];
    if (outcome === undefined || isAcceptance(outcome)) return [];
    const waitsFor = waitReasonOf(outcome);
    if (waitsFor !== undefined) throw new WaitingLineError(index, waitsFor);
    return [{ line: line.index, response: endpoint.reject(task?.translate(outcome) ?? outcome) }];
  });
  const last = lines.at(-1);
  if (last !== undefined) await recordFed(transaction, batch, last.line, rejections);
}
