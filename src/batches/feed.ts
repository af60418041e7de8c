/**
 * Makes tasks of the next lines: as many as the pace of the batch allows, and as leave half of the account's slots to
 * its other work. Each has a key that follows from its line, so that a feed that is repeated after a crash finds what
 * it has created.
 */
import type { Caller } from '../accounts/authenticate.ts';
import type { Queryable, Statement } from '../database/database.ts';
import { DarkroomError } from '../domain/darkroom-error.ts';
import { factsOf } from '../domain/darkroom-error.ts';
import { isAcceptance } from '../tasks/create/accept-many.ts';
import type { ManyOutcome } from '../tasks/create/accept-many.ts';
import { QueueFullError } from '../tasks/create/accept.ts';
import type { CreateItem } from '../tasks/create/create-many.ts';
import type { Batch } from './batch-record.ts';
import type { BatchContext, LineEndpoint, LineTask } from './context.ts';
import type { InputLine } from './input-lines.ts';
import { lineKey, parseLine } from './line.ts';
import type { LineSource } from './line-source.ts';
import { updatePace } from './pace.ts';
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
const moveFed: Statement = {
  name: 'move_fed_lines',
  text: `UPDATE batches SET lines_fed = $3, fed_bytes = $4 WHERE id = $1 AND lines_fed = $2 RETURNING id`,
};
const insertRejections: Statement = {
  name: 'insert_batch_rejections',
  text: `INSERT INTO batch_rejections (batch_id, line, response)
         SELECT $1, line, response FROM unnest($2::integer[], $3::jsonb[]) AS r (line, response)
         ON CONFLICT DO NOTHING`,
};

/** A line that is about to be fed. */
interface FedLine {
  readonly line: InputLine;
  readonly task: LineTask | undefined;
  readonly item: CreateItem;
}

/** @param open how many lines have not ended. @returns whether any were fed. */
export async function feedLines(
  context: BatchContext,
  batch: Batch,
  { open, source }: { readonly open: number; readonly source: LineSource },
): Promise<boolean> {
  const { database } = context;
  const [share] = await database.query<{ lines: number }>(selectShare, [batch.accountId]);
  const pace = context.paces.of(batch.id);
  const room = Math.min(
    (await updatePace(pace, context, batch, share?.lines ?? 1)) - open,
    WINDOW_LINES - (batch.linesFed - batch.linesSettled),
    LINES_AT_ONCE,
  );
  if (room <= 0) return false;
  const endpoint = context.endpoints[batch.endpoint];
  const caller = await callerOf(context, batch);
  const lines: FedLine[] = [];
  for (const line of await source.take({ line: batch.linesFed, byte: batch.fedBytes }, room, BYTES_AT_ONCE)) {
    await context.nextTurn();
    lines.push(prepare(endpoint, caller, batch, line));
  }
  const outcomes = await create(context, caller, lines);
  const full = outcomes.findIndex((outcome) => outcome instanceof QueueFullError);
  const fed = full < 0 ? lines : lines.slice(0, full);
  const last = fed.at(-1)?.line;
  if (last === undefined) return false;
  pace.use(open + fed.length);
  await record(database, batch, last, rejectionsOf(endpoint, fed, outcomes));
  return true;
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

function prepare(endpoint: LineEndpoint, caller: Caller | DarkroomError, batch: Batch, line: InputLine): FedLine {
  const rejected = (problem: DarkroomError): FedLine => ({
    line,
    task: undefined,
    item: { body: {}, idempotencyKey: undefined, problem },
  });
  const { body, problem } = parseLine(line, batch.endpoint);
  if (problem !== undefined) return rejected(problem);
  if (caller instanceof DarkroomError) return rejected(caller);
  try {
    const task = endpoint.taskOf(caller, body);
    return { line, task, item: { body: task.body, idempotencyKey: lineKey(batch.id, line.index) } };
  } catch (error) {
    if (error instanceof DarkroomError && factsOf(error.kind).status < 500) return rejected(error);
    throw error;
  }
}

async function create(
  context: BatchContext,
  caller: Caller | DarkroomError,
  lines: readonly FedLine[],
): Promise<readonly ManyOutcome[]> {
  if (caller instanceof DarkroomError) return lines.map(({ item }) => item.problem ?? caller);
  const items = lines.map(({ item }) => item);
  const outcomes = await context.taskCreator.createMany(caller, items, WITHOUT_LIMIT, () => context.nextTurn());
  context.wakeLauncher();
  for (const outcome of outcomes) {
    if (isAcceptance(outcome) && outcome.claimed !== undefined) context.wakeLauncher(outcome.claimed);
  }
  return outcomes;
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

/** If another attempt was faster, its record stands: it has found the same tasks. */
async function record(
  database: BatchContext['database'],
  { id, linesFed }: Batch,
  last: InputLine,
  rejections: readonly Rejection[],
): Promise<void> {
  await database.transaction(async (transaction: Queryable) => {
    const moved = await transaction.query(moveFed, [id, linesFed, last.index + 1, last.endByte]);
    if (moved.length === 0 || rejections.length === 0) return;
    const lines = rejections.map(({ line }) => line);
    await transaction.query(insertRejections, [id, lines, rejections.map(({ response }) => response)]);
  });
}
