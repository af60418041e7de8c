/**
 * Feeds the next lines of a batch: as many as leave half of the account's slots to its other work, and for tasks as many
 * as the pace of the batch allows. Each becomes a task (feed-tasks.ts) or a text call (feed-text-calls.ts), or is
 * rejected.
 */
import { TEXT_BATCH_ENDPOINTS } from '@darkroom/api/openai/batches';
import type { Caller } from '../accounts/authenticate.ts';
import type { Statement } from '../database/database.ts';
import { DarkroomError } from '../domain/darkroom-error.ts';
import type { Batch } from './batch-record.ts';
import type { BatchContext, LineEndpoint } from './context.ts';
import { feedTasks } from './feed-tasks.ts';
import { feedTextCalls } from './feed-text-calls.ts';
import type { LineSource } from './line-source.ts';
import { memoryOf } from './input-lines.ts';
import { updatePace } from './pace.ts';
import { OvertakenError, outcomeOf } from './record-fed.ts';
import type { Fed } from './record-fed.ts';
import { WINDOW_LINES } from './settle-lines.ts';

/** The maximum number of lines, and of their bytes, that are fed together. */
const LINES_AT_ONCE = 100;
const BYTES_AT_ONCE = 4_000_000;

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
    const fed =
      endpoint.kind === 'task'
        ? await feedTasks(context, batch, endpoint, caller, lines, signal)
        : await feedTextCalls(context, batch, endpoint, caller, lines, signal);
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
