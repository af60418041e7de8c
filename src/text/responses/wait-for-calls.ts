/**
 * Waits for a response whose call has not ended. A client may request or continue a response right after it received
 * the last byte, when the row of the response is about to be written, and on another connection even earlier. A call
 * that is to be stored is in progress until it is settled (src/text/money/). Once it is settled, its row has been
 * written, or none will be.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { timeOutMs } from '../../config/time-outs.ts';
import type { Queryable, Statement } from '../../database/database.ts';
import { DarkroomError } from '../../domain/darkroom-error.ts';

/** How long a reader waits for a call to end, and how often it polls the database, in milliseconds. */
export interface WaitOptions {
  readonly waitMs: number;
  readonly pollMs: number;
}

const DEFAULT_WAIT: WaitOptions = { waitMs: timeOutMs(5_000), pollMs: 25 };

/** The requested response is still being generated. `response` is the object that is returned for it meanwhile. */
export class ResponseInProgressError extends DarkroomError {
  override readonly name = 'ResponseInProgressError';
  override readonly kind = 'response_in_progress';
  readonly response: Readonly<Record<string, unknown>>;

  constructor(response: { readonly id: string } & Readonly<Record<string, unknown>>) {
    super(`the response ${response.id} is still in progress`);
    this.response = response;
  }
}

const selectUnderWay: Statement = {
  name: 'select_text_calls_under_way',
  text: `SELECT id, model, extract(epoch FROM created_at)::float8 AS "createdAt" FROM text_calls c
          WHERE id = ANY($1) AND account_id = $2 AND is_stored AND settled_at IS NULL
            AND NOT EXISTS (SELECT 1 FROM text_responses r WHERE r.id = c.id)
          LIMIT 1`,
};

const selectInBackground: Statement = {
  name: 'select_open_background_responses',
  text: `SELECT id, state, response FROM background_calls
          WHERE id = ANY($1) AND account_id = $2 AND ended_at IS NULL AND batch_id IS NULL LIMIT 1`,
};

/** Those in the background are not waited for. @throws {ResponseInProgressError} */
async function requireEndedInBackground(database: Queryable, accountId: string, ids: readonly string[]): Promise<void> {
  const [call] = await database.query<{ id: string; state: string; response: Readonly<Record<string, unknown>> }>(
    selectInBackground,
    [ids, accountId],
  );
  if (call !== undefined) throw new ResponseInProgressError({ ...call.response, id: call.id, status: call.state });
}

/**
 * Waits until none of these responses is still being generated. The caller then reads them again, even if this function
 * did not wait: a call may have ended between the caller's first read and this one.
 *
 * @throws {ResponseInProgressError} one of them is still being generated after the wait.
 */
export async function waitForCalls(
  database: Queryable,
  accountId: string,
  ids: readonly string[],
  { waitMs, pollMs }: WaitOptions = DEFAULT_WAIT,
): Promise<void> {
  await requireEndedInBackground(database, accountId, ids);
  const deadline = performance.now() + waitMs;
  for (;;) {
    const [call] = await database.query<UnderWay>(selectUnderWay, [ids, accountId]);
    if (call === undefined) return;
    if (performance.now() >= deadline) throw new ResponseInProgressError(inProgressResponse(call));
    await sleep(pollMs);
  }
}

interface UnderWay {
  readonly id: string;
  readonly model: string | null;
  readonly createdAt: number;
}

function inProgressResponse({
  id,
  model,
  createdAt,
}: UnderWay): { readonly id: string } & Readonly<Record<string, unknown>> {
  return {
    id,
    object: 'response',
    created_at: Math.floor(createdAt),
    status: 'in_progress',
    completed_at: null,
    background: false,
    error: null,
    incomplete_details: null,
    model,
    output: [],
    store: true,
    usage: null,
  };
}
