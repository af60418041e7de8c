/**
 * Feeds the next lines of a batch: as many as leave half of the account's slots to its other work, and for tasks as many
 * as the pace of the batch allows. Each becomes a task (feed-tasks.ts) or a text call (feed-text-calls.ts), or is
 * rejected.
 */
import { TEXT_BATCH_ENDPOINTS } from '@darkroom/api/openai/batches';
import type { Caller } from '../accounts/authenticate.ts';
import type { Statement } from '../database/database.ts';
import { DarkroomError, factsOf } from '../domain/darkroom-error.ts';
import type { Batch } from './batch-record.ts';
import type { BatchContext, LineEndpoint } from './context.ts';
import { feedTasks } from './feed-tasks.ts';
import { feedTextCalls } from './feed-text-calls.ts';
import type { LineSource } from './line-source.ts';
import { updatePace } from './pace.ts';
import { OvertakenError } from './record-fed.ts';
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

/** @param open how many lines have not ended. @returns whether any were fed. */
export async function feedLines(
  context: BatchContext,
  batch: Batch,
  { open, source }: { readonly open: number; readonly source: LineSource },
): Promise<boolean> {
  const endpoint = context.endpoints[batch.endpoint];
  const share = await shareOf(context, batch, endpoint);
  const pace = endpoint.kind === 'task' ? context.paces.of(batch.id) : undefined;
  const most = pace === undefined ? share : await updatePace(pace, context, batch, share);
  const room = Math.min(most - open, WINDOW_LINES - (batch.linesFed - batch.linesSettled), LINES_AT_ONCE);
  if (room <= 0) return false;
  const caller = await callerOf(context, batch);
  const lines = await source.take({ line: batch.linesFed, byte: batch.fedBytes }, room, BYTES_AT_ONCE);
  try {
    const fed =
      endpoint.kind === 'task'
        ? await feedTasks(context, batch, endpoint, caller, lines)
        : await feedTextCalls(context, batch, endpoint, caller, lines);
    if (fed > 0) pace?.use(open + fed);
    return fed > 0;
  } catch (error) {
    if (error instanceof OvertakenError) return false;
    throw error;
  }
}

async function shareOf({ database }: BatchContext, { accountId }: Batch, { kind }: LineEndpoint): Promise<number> {
  const values = [accountId, kind === 'text', [...TEXT_BATCH_ENDPOINTS]];
  const [share] = await database.query<{ lines: number }>(selectShare, values);
  return share?.lines ?? 1;
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
