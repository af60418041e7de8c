/**
 * The results of a batch, line by line: the input is read again for the names of its lines, and each line is looked up as
 * what it became.
 */
import type { Queryable, Statement } from '../database/database.ts';
import { taskIdForKey } from '../domain/ids.ts';
import { readBatchCallResults, readBatchCallSizes } from '../text/background/batch-calls.ts';
import { TASK_DETAIL_COLUMNS, detailOf } from '../tasks/record/read.ts';
import type { TaskRow } from '../tasks/record/read.ts';
import type { Batch } from './batch-record.ts';
import type { BatchContext, LineResponse, TaskEndpoint } from './context.ts';
import { readLines } from './input-lines.ts';
import { lineKey, withOutline } from './line.ts';

/** Lines that are looked up together, and the bytes of their answers, unless one alone has more. */
const LINES_AT_ONCE = 100;
const BYTES_AT_ONCE = 4_000_000;

const selectTasks: Statement = {
  name: 'select_tasks_of_lines',
  text: `SELECT ${TASK_DETAIL_COLUMNS} FROM tasks t WHERE t.id = ANY ($1)`,
};
const selectRejections: Statement = {
  name: 'select_batch_rejections',
  text: 'SELECT line, response FROM batch_rejections WHERE batch_id = $1 AND line BETWEEN $2 AND $3',
};

/** Which lines a file has: those that succeeded, or all others. */
export type ResultKind = 'output' | 'error';

interface Result {
  readonly kind: ResultKind;
  readonly requestId: string;
  readonly response: LineResponse | undefined;
}

/** What is kept of a line until its result is written: never the line itself. */
interface NamedLine {
  readonly index: number;
  readonly customId: string | null;
}

/** @returns the lines of a file, in the order of the input. */
export async function* resultsOf(
  context: BatchContext,
  batch: Batch,
  kind: ResultKind,
  signal: AbortSignal,
): AsyncGenerator<string, void, undefined> {
  let chunk: NamedLine[] = [];
  for await (const line of namedLines(context, batch, signal)) {
    chunk.push(line);
    if (chunk.length < LINES_AT_ONCE) continue;
    yield* chunkOf(context, batch, kind, chunk, signal);
    chunk = [];
  }
  if (chunk.length > 0) yield* chunkOf(context, batch, kind, chunk, signal);
}

async function* namedLines(context: BatchContext, batch: Batch, signal: AbortSignal): AsyncGenerator<NamedLine> {
  if (batch.problems !== null) {
    // Without the input, a line is known by its number alone.
    for (let index = 0; index < batch.linesFed; index++) yield { index, customId: null };
    return;
  }
  for await (const line of readLines(context, batch, signal)) {
    const { index } = line;
    yield { index, customId: await withOutline(context, batch, line, signal, ({ customId }) => customId) };
  }
}

/** The answers of text models are as large as their models made them: they are read in parts that find room. */
async function* chunkOf(
  context: BatchContext,
  batch: Batch,
  kind: ResultKind,
  lines: readonly NamedLine[],
  signal: AbortSignal,
): AsyncGenerator<string, void, undefined> {
  for (const part of await partsOf(context, batch, kind, lines)) {
    const release = await context.lineBodies.reserve(batch.accountId, part.bytes, signal);
    try {
      const results = await readResults(context, batch, kind, part.lines);
      for (const line of part.lines) {
        const result = results.get(line.index) ?? notFed(batch, line.index);
        if (result.kind !== kind) continue;
        await context.nextTurn();
        signal.throwIfAborted();
        yield `${JSON.stringify(present(batch, line, result))}\n`;
      }
    } finally {
      release();
    }
  }
}

interface Part {
  readonly lines: readonly NamedLine[];
  /** What their answers take. */
  readonly bytes: number;
}

async function partsOf(
  { database, endpoints }: BatchContext,
  { id, endpoint }: Batch,
  kind: ResultKind,
  lines: readonly NamedLine[],
): Promise<readonly Part[]> {
  // The tasks of a line are read without their inputs.
  if (endpoints[endpoint].kind === 'task') return [{ lines, bytes: 0 }];
  const sizes = new Map(await readBatchCallSizes(database, id, rangeOf(lines, kind)));
  const parts: { lines: NamedLine[]; bytes: number }[] = [];
  for (const line of lines) {
    const bytes = sizes.get(line.index) ?? 0;
    const last = parts.at(-1);
    if (last === undefined || last.bytes + bytes > BYTES_AT_ONCE) parts.push({ lines: [line], bytes });
    else {
      last.lines.push(line);
      last.bytes += bytes;
    }
  }
  return parts;
}

function rangeOf(lines: readonly NamedLine[], kind: ResultKind) {
  const of = kind === 'output' ? 'answered' : 'failed';
  return { first: lines[0]?.index ?? 0, last: lines.at(-1)?.index ?? 0, of } as const;
}

async function readResults(
  context: BatchContext,
  batch: Batch,
  kind: ResultKind,
  lines: readonly NamedLine[],
): Promise<ReadonlyMap<number, Result>> {
  const { database, endpoints } = context;
  const results = new Map<number, Result>();
  for (const { line, response } of await rejectionsOf(database, batch.id, lines)) {
    results.set(line, { kind: 'error', requestId: `${batch.id}_${line + 1}`, response });
  }
  const endpoint = endpoints[batch.endpoint];
  const own =
    endpoint.kind === 'task'
      ? await taskResults(context, batch, endpoint, kind, lines)
      : await textResults(database, batch, kind, lines);
  for (const [line, result] of own) results.set(line, result);
  return results;
}

type LineResults = readonly (readonly [line: number, result: Result])[];

async function taskResults(
  { database, installationId }: BatchContext,
  { id, accountId }: Batch,
  endpoint: TaskEndpoint,
  kind: ResultKind,
  lines: readonly NamedLine[],
): Promise<LineResults> {
  const ids = new Map(lines.map(({ index }) => [taskIdForKey(installationId, accountId, lineKey(id, index)), index]));
  const results: [number, Result][] = [];
  for (const row of await database.query<TaskRow>(selectTasks, [[...ids.keys()]])) {
    const index = ids.get(row.id);
    if (index === undefined) continue;
    const own: ResultKind = row.status === 'success' ? 'output' : 'error';
    const response = own === kind ? await endpoint.respond(detailOf(row)) : undefined;
    results.push([index, { kind: own, requestId: row.id, response }]);
  }
  return results;
}

async function textResults(
  database: Queryable,
  { id }: Batch,
  kind: ResultKind,
  lines: readonly NamedLine[],
): Promise<LineResults> {
  const calls = await readBatchCallResults(database, id, rangeOf(lines, kind));
  return calls.map(({ id: requestId, line, state, answer, error }) => {
    const response = answer === null ? (error ?? undefined) : { status: 200, body: answer };
    return [line, { kind: state === 'answered' ? 'output' : 'error', requestId, response }];
  });
}

async function rejectionsOf(database: Queryable, id: string, lines: readonly NamedLine[]) {
  const range = [lines[0]?.index ?? 0, lines.at(-1)?.index ?? 0];
  return database.query<{ line: number; response: LineResponse }>(selectRejections, [id, ...range]);
}

/** The batch has ended before the line had its turn. */
function notFed({ id }: Batch, line: number): Result {
  return { kind: 'error', requestId: `${id}_${line + 1}`, response: undefined };
}

const NOT_FED = {
  cancelling: { code: 'batch_cancelled', message: 'The batch was cancelled before this request had its turn.' },
  expired: { code: 'batch_expired', message: 'The batch expired before this request had its turn.' },
};

/** OpenAI's form of a result. */
function present(batch: Batch, line: NamedLine, { requestId, response }: Result) {
  return {
    id: `batch_req_${batch.id.slice('batch_'.length)}_${line.index + 1}`,
    custom_id: line.customId,
    response:
      response === undefined ? null : { status_code: response.status, request_id: requestId, body: response.body },
    error: response === undefined ? NOT_FED[batch.status === 'cancelling' ? 'cancelling' : 'expired'] : null,
  };
}
