/**
 * Waiting for a response whose call is not over: a client may request it, or continue it, in the moment after its last
 * byte, when its row is about to be written, and on another connection even before. A call that is not settled, and is
 * to be stored, is under way (src/text/money/); one that is settled has left its row, or leaves none.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Queryable, Statement } from '../../database/database.ts';
import { DarkroomError } from '../../domain/darkroom-error.ts';

/** How long a reader waits, and how often it polls. */
export interface WaitOptions {
  readonly waitMs: number;
  readonly pollMs: number;
}

const DEFAULT_WAIT: WaitOptions = { waitMs: 5_000, pollMs: 25 };

/** It is still being generated. `response` is what can be shown of it. */
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

/**
 * Waits until none of these responses is still being generated. Then it is worth reading them again, even if none was:
 * one may have been a moment before.
 *
 * @throws {ResponseInProgressError} one of them still is.
 */
export async function waitForCalls(
  database: Queryable,
  accountId: string,
  ids: readonly string[],
  { waitMs, pollMs }: WaitOptions = DEFAULT_WAIT,
): Promise<void> {
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
