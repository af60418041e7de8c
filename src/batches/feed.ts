/**
 * Feeds the next lines of a batch: as many as leave half of the account's slots to its other work, and for tasks as many
 * as the pace of the batch allows. Each becomes a task or a text call in the background, or is rejected, in the
 * transaction that moves the batch's pointer over them.
 */
import { TEXT_BATCH_ENDPOINTS } from '@darkroom/api/openai/batches';
import type { WaitReason } from '@darkroom/api/openai/batches';
import type { Caller } from '../accounts/authenticate.ts';
import { waitReasonOf } from '../billing/ledger.ts';
import type { Queryable, Statement } from '../database/database.ts';
import { DarkroomError } from '../domain/darkroom-error.ts';
import { factsOf } from '@darkroom/api/facts/error-kinds';
import { textCallIdForLine } from '../domain/ids.ts';
import { isAcceptance } from '../tasks/create/accept-many.ts';
import type { AlongsideAccepting, ManyOutcome } from '../tasks/create/accept-many.ts';
import type { CreateItem } from '../tasks/create/create-many.ts';
import { insertBatchCalls } from '../text/background/queue.ts';
import type { NewBatchCall } from '../text/background/queue.ts';
import type { Batch } from './batch-record.ts';
import type { BatchContext, LineEndpoint, LineResponse, LineTask, TaskEndpoint, TextEndpoint } from './context.ts';
import { memoryOf } from './input-lines.ts';
import type { InputLine, LineSource } from './input-lines.ts';
import { lineKey, parseLine } from './line.ts';
import { updatePace } from './pace.ts';
import { WINDOW_LINES } from './settle-lines.ts';

/** The maximum number of lines, and of their bytes, that are fed together. */
const LINES_AT_ONCE = 100;
const BYTES_AT_ONCE = 4_000_000;
/** The rate limit of requests is not for lines: their pace is that at which tasks end. */
const WITHOUT_LIMIT = (): Promise<number> => Promise.resolve(0);

/** What a feed has come to. */
export interface Fed {
  /** How many lines were fed. */
  readonly lines: number;
  /** Why the next one waits, where it is not for lines before it to end. */
  readonly waitingFor: WaitReason | undefined;
}

/** A feed of some lines. */
interface Feeding<Endpoint extends LineEndpoint> {
  readonly context: BatchContext;
  readonly batch: Batch;
  readonly endpoint: Endpoint;
  /** Why the key may make no requests any more, if it may not. */
  readonly caller: Caller | DarkroomError;
  readonly signal: AbortSignal;
}

/** Half of what the account may have at once of a kind of work, shared by its batches of this kind. */
const selectShare: Statement = {
  name: 'select_share_of_batch',
  text: `SELECT greatest(1, CASE WHEN $2 THEN c.text_streams_cap ELSE c.running_cap END / 2 / greatest(1, (
                  SELECT count(*)::integer FROM batches b
                   WHERE b.account_id = c.account_id AND b.status = 'in_progress'
                     AND (b.endpoint = ANY ($3)) = $2))) AS lines
           FROM account_counters c WHERE c.account_id = $1`,
};

/** @param open how many lines have not ended. */
export async function feedLines(
  context: BatchContext,
  batch: Batch,
  { open, source, signal }: { readonly open: number; readonly source: LineSource; readonly signal: AbortSignal },
): Promise<Fed> {
  const endpoint = context.endpoints[batch.endpoint];
  const share = await shareOf(context, batch, endpoint);
  const pace = endpoint.kind === 'task' ? context.paces.of(batch.id) : undefined;
  const most = pace === undefined ? share : await updatePace(pace, context, batch, share);
  // While it waits, one line shows whether it has to.
  const together = batch.waitingFor === null ? LINES_AT_ONCE : 1;
  const room = Math.min(most - open, WINDOW_LINES - (batch.linesFed - batch.linesSettled), together);
  if (room <= 0) return { lines: 0, waitingFor: undefined };
  const caller = await callerOf(context, batch);
  if (caller instanceof DarkroomError && caller.waitsFor !== undefined) {
    return { lines: 0, waitingFor: caller.waitsFor };
  }
  const lines = await source.take({ line: batch.linesFed, byte: batch.fedBytes }, room, BYTES_AT_ONCE);
  const release = await context.lineBodies.reserve(batch.accountId, memoryOf(lines), signal);
  try {
    const feeding = { context, batch, caller, signal };
    const fed =
      endpoint.kind === 'task'
        ? await feedTasks({ ...feeding, endpoint }, lines)
        : await feedTextCalls({ ...feeding, endpoint }, lines);
    if (fed.lines > 0) pace?.use(open + fed.lines);
    return fed;
  } catch (error) {
    if (error instanceof OvertakenError) return { lines: 0, waitingFor: undefined };
    throw error;
  } finally {
    release();
  }
}

async function shareOf({ database }: BatchContext, { accountId }: Batch, { kind }: LineEndpoint): Promise<number> {
  const values = [accountId, kind === 'text', [...TEXT_BATCH_ENDPOINTS]];
  const [share] = await database.query<{ lines: number }>(selectShare, values);
  return share?.lines ?? 1;
}

/** The caller, or why the key of the batch may make no requests, now or for good. */
async function callerOf({ authenticator }: BatchContext, { keyId }: Batch): Promise<Caller | DarkroomError> {
  try {
    return await authenticator.callerOfKey(keyId);
  } catch (error) {
    return outcomeOf(error);
  }
}

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

/** Makes tasks of lines. @returns fewer lines than there are if the next one has to wait. @throws {OvertakenError} */
async function feedTasks(feeding: Feeding<TaskEndpoint>, lines: readonly InputLine[]): Promise<Fed> {
  const { context, batch, caller } = feeding;
  let fed: FedLine[] = [];
  let waitingFor: WaitReason | undefined;
  for (const line of lines) {
    await context.nextTurn();
    const prepared = await prepare(feeding, line);
    waitingFor = prepared.item.problem?.waitsFor;
    if (waitingFor !== undefined) break;
    fed.push(prepared);
  }
  while (fed.length > 0) {
    const these = fed;
    try {
      await create(context, caller, these, {
        begin: (transaction) => lockForFeeding(transaction, batch),
        end: (transaction, outcomes) => record(transaction, feeding, these, outcomes),
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
  { context, batch, endpoint, caller, signal }: Feeding<TaskEndpoint>,
  line: InputLine,
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
  { batch, endpoint }: Feeding<TaskEndpoint>,
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

/**
 * Makes text calls in the background of lines. A call reads its line again when it is run, and holds then.
 *
 * @returns fewer lines than there are if the next one has to wait. @throws {OvertakenError}
 */
async function feedTextCalls(feeding: Feeding<TextEndpoint>, lines: readonly InputLine[]): Promise<Fed> {
  const { context, batch, endpoint } = feeding;
  const { accountId, keyId, id: batchId } = batch;
  const { surface } = endpoint;
  const calls: NewBatchCall[] = [];
  const rejections: Rejection[] = [];
  let last: InputLine | undefined;
  let waitingFor: WaitReason | undefined;
  for (const line of lines) {
    await context.nextTurn();
    const problem = await problemOf(feeding, line);
    waitingFor = problem?.waitsFor;
    if (waitingFor !== undefined) break;
    last = line;
    if (problem === undefined) {
      const id = textCallIdForLine(surface, context.installationId, accountId, lineKey(batchId, line.index));
      calls.push({ id, line: line.index, lineBegin: line.beginByte });
    } else {
      rejections.push({ line: line.index, response: endpoint.reject(problem) });
    }
  }
  const end = last;
  if (end === undefined) return { lines: 0, waitingFor };
  await context.accountDatabase(accountId).transaction(async (transaction) => {
    await lockForFeeding(transaction, batch);
    if (calls.length > 0) await insertBatchCalls(transaction, { batchId, accountId, keyId, surface }, calls);
    await recordFed(transaction, batch, end, rejections);
  });
  context.wakeDueWork();
  return { lines: calls.length + rejections.length, waitingFor };
}

/** @returns why a line is rejected before it is run, or has to wait, if it is. */
async function problemOf(
  { context, batch, endpoint, caller, signal }: Feeding<TextEndpoint>,
  line: InputLine,
): Promise<DarkroomError | undefined> {
  try {
    const { body, problem } = await parseLine(context, batch, line, 'body', signal);
    if (problem !== undefined) return problem;
    if (caller instanceof DarkroomError) return caller;
    endpoint.check(caller, body);
    return undefined;
  } catch (error) {
    return outcomeOf(error);
  }
}

const lockFeeding: Statement = {
  name: 'lock_feeding_batch',
  text: `SELECT id FROM batches
          WHERE id = $1 AND status = 'in_progress' AND problems IS NULL AND expires_at > now() AND lines_fed = $2
            FOR NO KEY UPDATE`,
};
const moveFed: Statement = {
  name: 'move_fed_lines',
  text: 'UPDATE batches SET lines_fed = $2, fed_bytes = $3 WHERE id = $1',
};
const insertRejections: Statement = {
  name: 'insert_batch_rejections',
  text: `INSERT INTO batch_rejections (batch_id, line, response)
         SELECT $1, line, response FROM unnest($2::integer[], $3::jsonb[]) AS r (line, response)
         ON CONFLICT DO NOTHING`,
};

/** Another attempt has fed these lines, or the batch takes no more. */
class OvertakenError extends Error {}

/** @returns what a line comes to, or what it waits for. @throws what says nothing about it. */
function outcomeOf(error: unknown): DarkroomError {
  const isOutcome = error instanceof DarkroomError && factsOf(error.kind).status < 500;
  if (isOutcome || (error instanceof DarkroomError && error.waitsFor !== undefined)) return error;
  throw error;
}

/** A line that is not to become anything. */
interface Rejection {
  readonly line: number;
  readonly response: LineResponse;
}

/**
 * Begins the transaction of a feed. With the row of the batch locked, the pointer moves over the lines, and those that
 * were rejected are recorded (`recordFed`). So an attempt that was overtaken, by another one or by the end of the
 * batch, feeds nothing.
 *
 * @throws {OvertakenError}
 */
async function lockForFeeding(transaction: Queryable, { id, linesFed }: Batch): Promise<void> {
  const locked = await transaction.query(lockFeeding, [id, linesFed]);
  if (locked.length === 0) throw new OvertakenError('these lines of the batch are no longer to be fed');
}

/** @param last the last line that is fed. */
async function recordFed(
  transaction: Queryable,
  { id }: Batch,
  last: InputLine,
  rejections: readonly Rejection[],
): Promise<void> {
  await transaction.query(moveFed, [id, last.index + 1, last.endByte]);
  if (rejections.length === 0) return;
  const lines = rejections.map(({ line }) => line);
  await transaction.query(insertRejections, [id, lines, rejections.map(({ response }) => JSON.stringify(response))]);
}
