/** Text calls in the background without Temporal: a test makes each attempt itself. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createBackgroundContext } from '../../src/http/text/background-context.ts';
import { newTextCallId } from '../../src/domain/ids.ts';
import { insertBackgroundCall } from '../../src/text/background/queue.ts';
import { deleteOldEvents } from '../../src/text/background/event-log.ts';
import type { BackgroundContext } from '../../src/text/background/context.ts';
import { runBackgroundCall } from '../../src/text/background/run.ts';
import type { AttemptResult } from '../../src/text/background/run.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import type { ServedAccount, ServedApp } from './serve.ts';

type Json = Readonly<Record<string, unknown>>;

export interface BackgroundRow {
  readonly id: string;
  readonly state: string;
  readonly attempts: number;
  readonly lost: number;
  readonly isRunning: boolean;
  readonly request: Json | null;
  readonly answer: Json | null;
  readonly error: { readonly status: number; readonly body: Json } | null;
}

/** A call in the ledger. */
export interface HeldRow {
  readonly held: bigint;
  readonly captured: bigint | null;
  readonly output: number | null;
}

export class BackgroundRoom {
  readonly context: BackgroundContext;
  readonly #served: ServedApp;

  constructor(served: ServedApp) {
    this.#served = served;
    this.context = createBackgroundContext(served.http, served.text.ledger);
  }

  /** Accepts a response as the endpoint does. */
  async accept(account: ServedAccount, request: Json): Promise<string> {
    const id = newTextCallId('responses');
    const key = await account.newKey();
    const response = { id, object: 'response', status: 'queued', previous_response_id: null };
    await this.#served.room.database.transaction((transaction) =>
      insertBackgroundCall(transaction, {
        id,
        accountId: account.id,
        keyId: key.id,
        surface: 'responses',
        isStreamed: request['stream'] === true,
        spendCapIds: [],
        request,
        response,
      }),
    );
    return id;
  }

  /**
   * @param stopping as if the process of the attempt stopped. @param ending as if it had waited for its upstreams for as
   *   long as it may.
   */
  attempt(
    id: string,
    stopping: AbortSignal = new AbortController().signal,
    ending: AbortSignal = new AbortController().signal,
  ): Promise<AttemptResult> {
    return runBackgroundCall(this.context, id, { stopping, ending });
  }

  /** As if the process of the last attempt had died, long after this one began. */
  async lose(id: string): Promise<void> {
    await this.#served.room.rows(
      `UPDATE background_calls SET is_running = true, process_id = gen_random_uuid() WHERE id = $1`,
      id,
    );
    await this.#served.room.rows(
      `UPDATE text_processes SET leased_until = now() + interval '20 s', unbroken_since = now() - interval '1 h'
        WHERE id = $1`,
      this.context.ledger.processId,
    );
  }

  /** Answers every call that is accepted from now on, as the worker of an api does. */
  answerAll(): AsyncDisposable {
    const stopping = new AbortController();
    const finished = (async () => {
      while (!stopping.signal.aborted) {
        const open = await this.#served.room.rows<{ readonly id: string }>(
          `SELECT id FROM background_calls WHERE state = 'queued' ORDER BY created_at LIMIT 10`,
        );
        await Promise.all(open.map(({ id }) => this.attempt(id, stopping.signal)));
        await sleep(50);
      }
    })();
    return {
      async [Symbol.asyncDispose]() {
        stopping.abort(new Error('the test is over'));
        await finished;
      },
    };
  }

  async row(id: string): Promise<BackgroundRow | undefined> {
    const [row] = await this.#served.room.rows<BackgroundRow>(
      `SELECT id, state, attempts, lost_attempts AS lost, is_running AS "isRunning", request, answer, error
         FROM background_calls WHERE id = $1`,
      id,
    );
    return row;
  }

  /** All that was ever held for a call. */
  async held(id: string): Promise<readonly HeldRow[]> {
    return this.#served.room.rows<HeldRow>(
      `SELECT held_micro_usd AS held, captured_micro_usd AS captured, output_tokens AS output
         FROM text_calls WHERE id = $1 AND process_id IS NOT NULL`,
      id,
    );
  }

  /** The calls of an account that were admitted, in the order of their arrival. */
  async admitted(accountId: string): Promise<readonly string[]> {
    const rows = await this.#served.room.rows<{ id: string }>(
      'SELECT id FROM background_calls WHERE account_id = $1 AND is_admitted ORDER BY created_at',
      accountId,
    );
    return rows.map(({ id }) => id);
  }

  /** What requests of a call that are lost can have cost the operator. */
  async lostCosts(id: string): Promise<readonly bigint[]> {
    const rows = await this.#served.room.rows<{ amount: bigint }>(
      `SELECT at_most_micro_usd AS amount FROM operator_costs WHERE task_id = $1 AND reason = 'attempt_lost'`,
      `${id}:lost`,
    );
    return rows.map(({ amount }) => amount);
  }

  /** The entries of a call in the ledger, in their order. */
  async entries(id: string): Promise<readonly string[]> {
    const rows = await this.#served.room.rows<{ kind: string }>(
      'SELECT kind FROM ledger_entries WHERE reference = $1 ORDER BY id',
      id,
    );
    return rows.map(({ kind }) => kind);
  }

  /** Waits for open calls of an account. */
  async waitForRows(accountId: string, kind: 'streamed'): Promise<readonly { readonly id: string }[]> {
    let rows: readonly { readonly id: string }[] = [];
    await waitFor(`a ${kind} call`, async () => {
      rows = await this.#served.room.rows<{ readonly id: string }>(
        `SELECT id FROM background_calls WHERE account_id = $1 AND is_streamed AND state = 'queued'`,
        accountId,
      );
      return rows.length > 0;
    });
    return rows;
  }

  /** Waits until as many events of a stream are recorded. */
  async waitForEvents(id: string, count: number): Promise<void> {
    await waitFor(`${count} events`, async () => {
      const [row] = await this.#served.room.rows<{ next: number | null }>(
        'SELECT max(next) AS next FROM background_events WHERE call_id = $1',
        id,
      );
      return (row?.next ?? 0) >= count;
    });
  }

  /** As if a call had ended an hour ago, and the pass that deletes events had run. */
  async endedAnHourAgo(id: string): Promise<void> {
    await this.#served.room.rows(`UPDATE background_calls SET ended_at = now() - interval '61 min' WHERE id = $1`, id);
    while ((await deleteOldEvents(this.#served.room.database, 2)) > 0);
  }

  async waitForHold(id: string): Promise<void> {
    await waitFor('the call is held', async () => (await this.held(id)).length === 1);
  }

  async settled(id: string): Promise<HeldRow> {
    let row: HeldRow | undefined;
    await waitFor('the call is settled', async () => {
      [row] = await this.held(id);
      return row !== undefined && row.captured !== null;
    });
    if (row === undefined) throw new Error('the call was never held');
    return row;
  }
}
