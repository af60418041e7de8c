/**
 * A text call in the ledger, its terms and its outcome, and the statement that moves its money: it settles calls of an
 * account and holds new ones, with the counters of the account and an entry for each move, all together or not at all
 * (contract §7 "Money"). Old holds are released before the new ones are checked, so that a call that has ended never
 * blocks the next.
 *
 * Locks in the order call, account, wallet, spend caps; no transaction locks a call's row while it has the account's.
 */
import { isSharedWallet } from '../../accounts/wallet.ts';
import type { Queryable, Statement } from '../../database/database.ts';
import { recordsIn } from '../../database/row-statement.ts';
import type { TextCallEnd } from '../../telemetry/metrics-work.ts';
import type { BilledUsage } from '../tally.ts';

/** Everything that is decided about a call before it begins. */
export interface NewTextCall {
  /** `chatcmpl-…` or `resp_…`: identifies it permanently, in the ledger too. */
  readonly id: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly model: string;
  /** The held amount: the worst-case cost. */
  readonly heldMicroUsd: bigint;
  /** What is captured if this process dies before the call is settled; at most what is held. */
  readonly floorMicroUsd: bigint;
  /** The counted input. */
  readonly inputTokens: number;
  /** Whether its output is stored as a response. */
  readonly isStored: boolean;
  /** The caps that the key's spending counts against; none for most keys. */
  readonly spendCapIds: readonly string[];
  /** Whom the call is for (contract §9.2): a filter of usage and of operators' lists. */
  readonly endUser?: string | undefined;
  /**
   * The call is one in the background (src/text/background/): its hold is not this process's, and stays if the process
   * dies or does not know whether it was made, and it is made only in half of the account's concurrent calls.
   */
  readonly isBackground?: boolean;
}

/** The concurrent calls of an account, of which those in the background leave half to others. */
export const backgroundCap = {
  of: (cap: number): number => Math.min(cap, Math.max(1, Math.floor(cap / 2))),
  sql: (cap: string): string => `least(${cap}, greatest(1, ${cap} / 2))`,
} as const;

/** How a call ended. */
export interface TextSettlement {
  readonly id: string;
  readonly accountId: string;
  /**
   * The amount due. Of an amount above the hold, only the hold is captured; what a report has beyond it is recorded as
   * an operator cost, `hold_exceeded`. The rest of a hold is released.
   */
  readonly capturedMicroUsd: bigint;
  readonly usage: BilledUsage;
  /**
   * The upstream that answered, or was tried last, by its name in logs: the operator cost is recorded for it if the
   * hold is exceeded. Undefined: not known.
   */
  readonly upstream?: string | undefined;
  /** Undefined: not known. */
  readonly outcome?: TextCallEnd;
  /** Why it failed. */
  readonly errorReason?: string | undefined;
  /**
   * Requests that an upstream may bill beside what is captured: they were repeated, or their answers broke off.
   * Recorded as operator costs, `attempt_lost`, of at most the hold each. Absent: none.
   */
  readonly lostRequests?: number | undefined;
  /** Requests that upstreams answered with a fault of their own. They are lost too where the call is repeated. */
  readonly failedRequests?: number | undefined;
}

/** The settlement of a call whose outcome is unknown: its counted input, no output, marked as estimated. */
export function estimatedSettlement(
  { id, accountId, inputTokens }: Pick<NewTextCall, 'id' | 'accountId' | 'inputTokens'>,
  capturedMicroUsd: bigint,
): TextSettlement {
  const usage = { inputTokens, cachedInputTokens: 0, outputTokens: 0, reasoningTokens: 0, isEstimated: true };
  return { id, accountId, capturedMicroUsd, usage };
}

/** The members of a settlement's record. */
const SETTLEMENT_COLUMNS = {
  id: 'text',
  captured: 'bigint',
  input: 'integer',
  cached: 'integer',
  output: 'integer',
  reasoning: 'integer',
  is_estimated: 'boolean',
  upstream: 'text',
  outcome: 'text',
  error_reason: 'text',
  lost: 'integer',
} as const;

/** The members of a new call's record. */
const CALL_COLUMNS = {
  id: 'text',
  key_id: 'text',
  model: 'text',
  held: 'bigint',
  floor: 'bigint',
  input: 'integer',
  is_stored: 'boolean',
  spend_cap_ids: 'text[]',
  is_background: 'boolean',
  end_user: 'text',
} as const;

/**
 * The settled rows are found by ON CONFLICT, which uses the primary key whatever the planner assumes about the table's
 * size: a plan made for an empty table is cached, and would read the whole table for every call of a busy hour. If
 * there is no row, the hold never came: the row that is then written excludes it for ever (migrations/0001_schema.sql),
 * and moves nothing.
 */
const moveStatement: Statement = {
  name: 'move_text_money',
  text: `WITH ended AS (
           SELECT * FROM ${recordsIn('$3', SETTLEMENT_COLUMNS, 's')}),
         over AS (
           INSERT INTO text_calls AS t (id, account_id, held_micro_usd, floor_micro_usd, captured_micro_usd, settled_at,
                                        input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, is_estimated,
                                        is_stored, upstream, outcome, error_reason)
           SELECT s.id, $1, s.captured, 0, s.captured, now(), s.input, s.cached, s.output, s.reasoning, s.is_estimated,
                  false, s.upstream, s.outcome, s.error_reason
             FROM ended s
           ON CONFLICT (id) DO UPDATE
              SET captured_micro_usd = least(excluded.captured_micro_usd, t.held_micro_usd),
                  settled_at = excluded.settled_at, input_tokens = excluded.input_tokens,
                  cached_input_tokens = excluded.cached_input_tokens, output_tokens = excluded.output_tokens,
                  reasoning_tokens = excluded.reasoning_tokens, is_estimated = excluded.is_estimated,
                  upstream = excluded.upstream, outcome = excluded.outcome, error_reason = excluded.error_reason,
                  due_micro_usd = CASE WHEN NOT excluded.is_estimated
                                        AND excluded.captured_micro_usd > t.held_micro_usd
                                       THEN excluded.captured_micro_usd END
            WHERE t.settled_at IS NULL AND t.account_id = $1
        RETURNING t.id, t.process_id, t.key_id, t.model, t.held_micro_usd AS held, t.captured_micro_usd AS captured,
                  t.held_micro_usd - t.captured_micro_usd AS released, t.due_micro_usd AS due, t.spend_cap_ids,
                  t.created_at),
         settled AS (
           SELECT * FROM over WHERE process_id IS NOT NULL),
         borne AS (
           INSERT INTO operator_costs (task_id, upstream, model, reason, at_most_micro_usd)
           SELECT t.id, coalesce(a.upstream, 'text'), t.model, 'hold_exceeded', t.due - t.held
             FROM settled t JOIN ended a ON a.id = t.id
            WHERE t.due IS NOT NULL
           ON CONFLICT (task_id) DO NOTHING),
         lost AS (
           INSERT INTO operator_costs AS o (task_id, upstream, model, reason, at_most_micro_usd)
           SELECT t.id || ':lost', coalesce(a.upstream, 'text'), t.model, 'attempt_lost', t.held * a.lost
             FROM settled t JOIN ended a ON a.id = t.id
            WHERE a.lost > 0
           ON CONFLICT (task_id) DO UPDATE SET at_most_micro_usd = o.at_most_micro_usd + excluded.at_most_micro_usd),
         freed AS (
           SELECT count(*)::integer AS calls, coalesce(sum(held), 0)::bigint AS held,
                  coalesce(sum(released), 0)::bigint AS released
             FROM settled),
         account AS (
           SELECT f.calls, f.released, f.held AS freed, c.wallet_id, c.available_micro_usd, c.held_micro_usd,
                  c.text_streams - f.calls AS streams, c.text_streams_cap AS streams_cap
             FROM account_counters c, freed f
            WHERE c.account_id = $1 FOR NO KEY UPDATE OF c),
         shared AS (
           SELECT w.available_micro_usd, w.held_micro_usd
             FROM account_counters w WHERE ${isSharedWallet('account')} FOR NO KEY UPDATE OF w),
         wallet AS (
           SELECT available_micro_usd, held_micro_usd FROM account WHERE wallet_id IS NULL
           UNION ALL
           SELECT * FROM shared),
         wanted AS (
           SELECT * FROM ${recordsIn('$4', CALL_COLUMNS, 'w')}),
         total AS (
           SELECT count(*)::integer AS calls, coalesce(sum(held), 0)::bigint AS held,
                  coalesce(bool_or(is_background), false) AS is_background FROM wanted),
         decision AS (
           SELECT a.calls, a.wallet_id, a.streams, w.available_micro_usd AS available_before,
                  w.held_micro_usd AS held_before, w.available_micro_usd + a.released AS available,
                  w.held_micro_usd - a.freed AS held, l.is_leased,
                  l.is_leased AND t.calls > 0 AND w.available_micro_usd + a.released >= t.held
                    AND a.streams + t.calls <= CASE WHEN t.is_background THEN ${backgroundCap.sql('a.streams_cap')}
                                                    ELSE a.streams_cap END AS fits,
                  t.calls AS wanted_calls, t.held AS wanted_held
             FROM account a, wallet w, total t,
                  (SELECT EXISTS (SELECT FROM text_processes WHERE id = $2 AND leased_until > now()) AS is_leased) l),
         outcome AS (
           SELECT d.*, d.available - CASE WHEN d.fits THEN d.wanted_held ELSE 0 END AS available_after,
                  d.held + CASE WHEN d.fits THEN d.wanted_held ELSE 0 END AS held_after
             FROM decision d),
         counted AS (
           UPDATE account_counters c
              SET available_micro_usd = CASE WHEN d.wallet_id IS NULL THEN d.available_after ELSE 0 END,
                  held_micro_usd = CASE WHEN d.wallet_id IS NULL THEN d.held_after ELSE 0 END,
                  text_streams = d.streams + CASE WHEN d.fits THEN d.wanted_calls ELSE 0 END
             FROM outcome d WHERE c.account_id = $1 AND (d.calls > 0 OR d.fits)),
         paid AS (
           UPDATE account_counters w SET available_micro_usd = d.available_after, held_micro_usd = d.held_after
             FROM outcome d WHERE ${isSharedWallet('account')} AND (d.calls > 0 OR d.fits)),
         held AS (
           INSERT INTO text_calls (id, account_id, key_id, model, held_micro_usd, floor_micro_usd, input_tokens,
                                   is_stored, spend_cap_ids, process_id)
           SELECT w.id, $1, w.key_id, w.model, w.held, least(w.floor, w.held), w.input,
                  w.is_stored, w.spend_cap_ids, $2
             FROM decision d, wanted w WHERE d.fits ORDER BY w.place),
         named AS (
           INSERT INTO text_call_end_users (call_id, account_id, end_user)
           SELECT w.id, $1, w.end_user FROM decision d, wanted w WHERE d.fits AND w.end_user IS NOT NULL),
         moves AS (
           SELECT 1 AS part, 0 AS place, id, 'capture' AS kind, captured AS amount, 0 AS available, -captured AS held,
                  key_id, model
             FROM settled WHERE captured > 0
           UNION ALL
           SELECT 1, 0, id, 'release', released, released, -released, key_id, model
             FROM settled WHERE released > 0 OR captured = 0
           UNION ALL
           SELECT 2, w.place, w.id, 'hold', w.held, -w.held, w.held, w.key_id, w.model
             FROM wanted w, decision d WHERE d.fits),
         entries AS (
           INSERT INTO ledger_entries (account_id, wallet_id, kind, reference, amount_micro_usd, key_id, model,
                                       available_after_micro_usd, held_after_micro_usd)
           SELECT $1, d.wallet_id, m.kind, m.id, m.amount, m.key_id, m.model,
                  d.available_before + sum(m.available) OVER succession, d.held_before + sum(m.held) OVER succession
             FROM moves m, decision d
           WINDOW succession AS (ORDER BY m.part, m.place, m.id, m.kind ROWS UNBOUNDED PRECEDING)
            ORDER BY m.part, m.place, m.id, m.kind),
         uncapped AS (
           INSERT INTO spend_periods AS p (cap_id, period, spent_micro_usd)
           SELECT u.cap_id, e.period, sum(s.released)
             FROM decision d, settled s
            CROSS JOIN LATERAL unnest(s.spend_cap_ids) AS u (cap_id)
            CROSS JOIN LATERAL (VALUES (to_char(s.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD')), ('total')) AS e (period)
            GROUP BY u.cap_id, e.period
           ON CONFLICT (cap_id, period) DO UPDATE SET spent_micro_usd = p.spent_micro_usd - excluded.spent_micro_usd)
         SELECT fits, is_leased AS "isLeased",
                (SELECT coalesce(jsonb_agg(jsonb_build_object('id', t.id, 'model', t.model, 'upstream', a.upstream,
                                                              'dueMicroUsd', t.due::text,
                                                              'heldMicroUsd', t.held::text)), '[]')
                   FROM settled t JOIN ended a ON a.id = t.id
                  WHERE t.due IS NOT NULL) AS exceeded
           FROM decision`,
};

/** A hold that was lower than what its call's upstream reported. The amounts are integers. */
export interface ExceededHold {
  readonly id: string;
  readonly model: string;
  readonly upstream: string | null;
  readonly dueMicroUsd: string;
  readonly heldMicroUsd: string;
}

/** The outcome for the new holds, and for the old ones. */
export interface Moved {
  /** All of them were held; otherwise none was. */
  readonly fits: boolean;
  /** Whether the process had its lease: without it nothing is held. */
  readonly isLeased: boolean;
  /** The settled calls that exceeded their hold; the difference was recorded as an operator cost. */
  readonly exceeded: readonly ExceededHold[];
}

/**
 * Settles calls of an account, each that was not settled before, and holds new ones: all of the new ones or none.
 *
 * @param processId the process that answers the new calls.
 * @throws {UniqueViolationError} an id among the new ones was used before; nothing was done.
 */
export async function moveTextMoney(
  database: Queryable,
  accountId: string,
  processId: string,
  settlements: readonly TextSettlement[],
  calls: readonly NewTextCall[],
): Promise<Moved> {
  const [moved] = await database.query<Moved>(moveStatement, [
    accountId,
    processId,
    JSON.stringify(settlements.map(settlementRecord)),
    JSON.stringify(calls.map(callRecord)),
  ]);
  if (moved === undefined) throw new Error('an authenticated account has no counters');
  return moved;
}

function settlementRecord(settlement: TextSettlement): {
  readonly [Column in keyof typeof SETTLEMENT_COLUMNS]: unknown;
} {
  const { usage } = settlement;
  return {
    id: settlement.id,
    captured: String(settlement.capturedMicroUsd),
    input: usage.inputTokens,
    cached: usage.cachedInputTokens,
    output: usage.outputTokens,
    reasoning: usage.reasoningTokens,
    is_estimated: usage.isEstimated,
    upstream: settlement.upstream,
    outcome: settlement.outcome,
    error_reason: settlement.errorReason,
    lost: settlement.lostRequests ?? 0,
  };
}

function callRecord(call: NewTextCall): { readonly [Column in keyof typeof CALL_COLUMNS]: unknown } {
  return {
    id: call.id,
    key_id: call.keyId,
    model: call.model,
    held: String(call.heldMicroUsd),
    floor: String(call.floorMicroUsd),
    input: call.inputTokens,
    is_stored: call.isStored,
    spend_cap_ids: call.spendCapIds.length === 0 ? undefined : call.spendCapIds,
    is_background: call.isBackground === true,
    end_user: call.endUser,
  };
}
