/**
 * Counts the lines that have ended: the pointer moves over a line once, in the statement that counts it and its tokens,
 * so that every line is counted once whatever runs twice. Those that ended ahead of an earlier one are counted anew each
 * time.
 */
import type { WaitReason } from '@darkroom/api/openai/batches';
import type { Queryable, Statement } from '../database/database.ts';
import { taskIdForKey } from '../domain/ids.ts';
import { readBatchCallStates } from '../text/background/batch-calls.ts';
import type { TokenUsage } from '../text/source.ts';
import { BATCH_COLUMNS } from './batch-record.ts';
import type { Batch } from './batch-record.ts';
import type { BatchContext } from './context.ts';
import { lineKey } from './line.ts';

/** The maximum number of lines between the first one that has not ended and the last one that was fed. */
export const WINDOW_LINES = 1_000;

const selectTasks: Statement = {
  name: 'select_states_of_lines',
  text: `SELECT wanted.position::integer - 1 AS position, t.status
           FROM unnest($1::text[]) WITH ORDINALITY AS wanted (id, position)
           JOIN tasks t ON t.id = wanted.id
          WHERE t.status IN ('success', 'fail')`,
};
const selectRejected: Statement = {
  name: 'select_rejected_lines',
  text: 'SELECT line FROM batch_rejections WHERE batch_id = $1 AND line >= $2 AND line < $3',
};
const moveSettled: Statement = {
  name: 'move_settled_lines',
  text: `UPDATE batches SET lines_settled = $2 + $3 + $4, lines_completed = lines_completed + $3,
                            lines_failed = lines_failed + $4, ahead_completed = $5, ahead_failed = $6,
                            input_tokens = input_tokens + $7, cached_input_tokens = cached_input_tokens + $8,
                            output_tokens = output_tokens + $9, reasoning_tokens = reasoning_tokens + $10
          WHERE id = $1 AND lines_settled = $2
      RETURNING ${BATCH_COLUMNS}`,
};

/** How a line has ended. */
interface EndedLine {
  readonly isCompleted: boolean;
  readonly usage: TokenUsage | undefined;
}

const FAILED: EndedLine = { isCompleted: false, usage: undefined };

type SettleContext = Pick<BatchContext, 'database' | 'installationId' | 'endpoints'>;

/** What the count has come to. */
export interface Settled {
  /** How many lines that were fed have not ended. */
  readonly open: number;
  /** The row as it is afterwards, or as it was if nothing was counted: another attempt may have counted the same. */
  readonly batch: Batch;
  /** Why lines that were fed wait, if some do. */
  readonly waitingFor: WaitReason | undefined;
}

/** What is known of lines that were fed. */
interface Known {
  /** How each has ended, from the first that is not settled on. */
  readonly states: (EndedLine | undefined)[];
  waitingFor: WaitReason | undefined;
}

export async function settleLines(context: SettleContext, batch: Batch): Promise<Settled> {
  const { database, endpoints } = context;
  const { id, linesSettled, linesFed } = batch;
  if (linesSettled === linesFed) return { open: 0, batch, waitingFor: undefined };
  const known: Known = { states: Array.from({ length: linesFed - linesSettled }), waitingFor: undefined };
  const { states } = known;
  for (const { line } of await database.query<{ line: number }>(selectRejected, [id, linesSettled, linesFed])) {
    states[line - linesSettled] = FAILED;
  }
  if (endpoints[batch.endpoint].kind === 'task') await addTasks(context, batch, known);
  else await addTextCalls(database, batch, known);
  const { waitingFor } = known;
  const firstOpen = states.indexOf(undefined);
  const first = sumOf(firstOpen < 0 ? states : states.slice(0, firstOpen));
  const ahead = sumOf(firstOpen < 0 ? [] : states.slice(firstOpen));
  const open = states.filter((state) => state === undefined).length;
  const hasMoved = first.completed + first.failed > 0;
  if (hasMoved || ahead.completed !== batch.aheadCompleted || ahead.failed !== batch.aheadFailed) {
    const { inputTokens, cachedInputTokens, outputTokens, reasoningTokens } = first.usage;
    const counts = [first.completed, first.failed, ahead.completed, ahead.failed];
    const tokens = [inputTokens, cachedInputTokens, outputTokens, reasoningTokens];
    const [moved] = await database.query<Batch>(moveSettled, [id, linesSettled, ...counts, ...tokens]);
    return { open, batch: moved ?? batch, waitingFor };
  }
  return { open, batch, waitingFor };
}

async function addTasks(
  { database, installationId }: SettleContext,
  { id, accountId, linesSettled }: Batch,
  { states }: Known,
): Promise<void> {
  const ids = Array.from(states, (_, offset) =>
    taskIdForKey(installationId, accountId, lineKey(id, linesSettled + offset)),
  );
  for (const { position, status } of await database.query<{ position: number; status: string }>(selectTasks, [ids])) {
    states[position] = { isCompleted: status === 'success', usage: undefined };
  }
}

async function addTextCalls(database: Queryable, { id, linesSettled, linesFed }: Batch, known: Known): Promise<void> {
  for (const { line, state, usage, waitingFor } of await readBatchCallStates(database, id, linesSettled, linesFed)) {
    known.waitingFor ??= waitingFor ?? undefined;
    if (state === 'queued' || state === 'in_progress') continue;
    known.states[line - linesSettled] = { isCompleted: state === 'answered', usage: usage ?? undefined };
  }
}

interface Sum {
  readonly completed: number;
  readonly failed: number;
  readonly usage: TokenUsage;
}

function sumOf(states: readonly (EndedLine | undefined)[]): Sum {
  const ended = states.filter((state) => state !== undefined);
  const completed = ended.filter(({ isCompleted }) => isCompleted).length;
  const tokens = (name: keyof TokenUsage): number => ended.reduce((sum, { usage }) => sum + (usage?.[name] ?? 0), 0);
  return {
    completed,
    failed: ended.length - completed,
    usage: {
      inputTokens: tokens('inputTokens'),
      cachedInputTokens: tokens('cachedInputTokens'),
      outputTokens: tokens('outputTokens'),
      reasoningTokens: tokens('reasoningTokens'),
    },
  };
}
