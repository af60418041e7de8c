/**
 * Makes tasks of the next lines: as many as leave half of the account's slots to its other work. The transaction that
 * accepts them locks the batch, and moves its pointer over them. So an attempt that was overtaken, by another one or by
 * the end of the batch, creates nothing.
 */
import type { Caller } from '../accounts/authenticate.ts';
import type { Queryable, Statement } from '../database/database.ts';
import { DarkroomError } from '../domain/darkroom-error.ts';
import { factsOf } from '../domain/darkroom-error.ts';
import { isAcceptance } from '../tasks/create/accept-many.ts';
import type { AlongsideAccepting, ManyOutcome } from '../tasks/create/accept-many.ts';
import { QueueFullError } from '../tasks/create/accept.ts';
import type { CreateItem } from '../tasks/create/create-many.ts';
import type { Batch } from './batch-record.ts';
import type { BatchContext, LineEndpoint, LineTask } from './context.ts';
import { readLines } from './input-lines.ts';
import type { InputLine } from './input-lines.ts';
import { lineKey, parseLine } from './line.ts';
import { WINDOW_LINES } from './settle-lines.ts';

/** The maximum number of lines, and of their bytes, that are fed together. */
const LINES_AT_ONCE = 100;
const BYTES_AT_ONCE = 4_000_000;
/** The rate limit of requests is not for lines: their pace is that at which tasks end. */
const WITHOUT_LIMIT = (): Promise<number> => Promise.resolve(0);

const selectShare: Statement = {
  name: 'select_share_of_batch',
  text: `SELECT greatest(1, c.running_cap / 2 / greatest(1, (
                  SELECT count(*)::integer FROM batches b
                   WHERE b.account_id = c.account_id AND b.status = 'in_progress'))) AS lines
           FROM account_counters c WHERE c.account_id = $1`,
};
const lockFeeding: Statement = {
  name: 'lock_feeding_batch',
  text: `SELECT id FROM batches WHERE id = $1 AND status = 'in_progress' AND lines_fed = $2 FOR NO KEY UPDATE`,
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

/** A line that is about to be fed. */
interface FedLine {
  readonly line: InputLine;
  readonly task: LineTask | undefined;
  readonly item: CreateItem;
}

/** @param open how many lines have not ended. @returns whether any were fed. */
export async function feedLines(context: BatchContext, batch: Batch, open: number): Promise<boolean> {
  const { database } = context;
  const [share] = await database.query<{ lines: number }>(selectShare, [batch.accountId]);
  const room = Math.min(
    (share?.lines ?? 1) - open,
    WINDOW_LINES - (batch.linesFed - batch.linesSettled),
    LINES_AT_ONCE,
  );
  if (room <= 0) return false;
  const endpoint = context.endpoints[batch.endpoint];
  const caller = await callerOf(context, batch);
  const lines: FedLine[] = [];
  for (const line of await nextLines(context, batch, room)) {
    await context.nextTurn();
    lines.push(await prepare(endpoint, caller, batch, line));
  }
  let isAnyFed = false;
  const recording: AlongsideAccepting = {
    begin: (transaction) => lockFor(transaction, batch),
    async end(transaction, outcomes) {
      isAnyFed = await record(transaction, batch, endpoint, lines, outcomes);
    },
  };
  try {
    await create(context, caller, lines, recording);
  } catch (error) {
    if (error instanceof OvertakenError) return false;
    throw error;
  }
  return isAnyFed;
}

/** @throws {OvertakenError} */
async function lockFor(transaction: Queryable, { id, linesFed }: Batch): Promise<void> {
  const locked = await transaction.query(lockFeeding, [id, linesFed]);
  if (locked.length === 0) throw new OvertakenError('these lines of the batch are no longer to be fed');
}

/** The caller, or why the key of the batch may no longer make requests. */
async function callerOf({ authenticator }: BatchContext, { keyId }: Batch): Promise<Caller | DarkroomError> {
  try {
    return await authenticator.callerOfKey(keyId);
  } catch (error) {
    if (error instanceof DarkroomError && factsOf(error.kind).status < 500) return error;
    throw error;
  }
}

async function nextLines({ store }: BatchContext, batch: Batch, room: number): Promise<readonly InputLine[]> {
  const lines: InputLine[] = [];
  let bytes = 0;
  for await (const line of readLines(store, batch, { line: batch.linesFed, byte: batch.fedBytes })) {
    lines.push(line);
    bytes += line.bytes?.length ?? 0;
    if (lines.length >= room || bytes >= BYTES_AT_ONCE) break;
  }
  return lines;
}

async function prepare(
  endpoint: LineEndpoint,
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
    return { line, task, item: { body: task.body, idempotencyKey: lineKey(batch.id, line.index), isOfBatch: true } };
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

/** @returns whether any line was fed: none is if the queue of the account is full. */
async function record(
  transaction: Queryable,
  { id }: Batch,
  endpoint: LineEndpoint,
  lines: readonly FedLine[],
  outcomes: readonly ManyOutcome[],
): Promise<boolean> {
  const full = outcomes.findIndex((outcome) => outcome instanceof QueueFullError);
  const fed = full < 0 ? lines : lines.slice(0, full);
  const last = fed.at(-1)?.line;
  if (last === undefined) return false;
  await transaction.query(moveFed, [id, last.index + 1, last.endByte]);
  const rejections = rejectionsOf(endpoint, fed, outcomes);
  if (rejections.length > 0) {
    const numbers = rejections.map(({ line }) => line);
    await transaction.query(insertRejections, [id, numbers, rejections.map(({ response }) => response)]);
  }
  return true;
}

interface Rejection {
  readonly line: number;
  readonly response: string;
}

function rejectionsOf(
  endpoint: LineEndpoint,
  lines: readonly FedLine[],
  outcomes: readonly ManyOutcome[],
): readonly Rejection[] {
  return lines.flatMap(({ line, task }, index) => {
    const outcome = outcomes[index];
    if (outcome === undefined || isAcceptance(outcome)) return [];
    const response = endpoint.reject(task?.translate(outcome) ?? outcome);
    return [{ line: line.index, response: JSON.stringify(response) }];
  });
}
