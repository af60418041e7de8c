/**
 * All work that is pending for Temporal: written by the transaction that decides it, claimed here by the launcher of
 * any api process, and removed once Temporal has it. A claim is a lease: it moves the row's `due_at` ahead, and where
 * the process dies the row simply comes due again.
 */
import type { Queryable, Statement } from '../../database/database.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';
import { REQUEST_HASH } from '../record/fingerprint.ts';

/** What can be sent to Temporal about a task in addition to its start. */
type TaskKind = 'cancel_task' | 'wake_task' | 'stop_generation' | 'deliver_callback';

/** What can be sent besides starts of tasks. */
type OutboxKind = TaskKind | 'promote_output';

interface ClaimedRow {
  readonly id: bigint;
  readonly accountId: string;
  /** How often it was claimed before. */
  readonly deliveries: number;
}

/** A claimed row, with what starting its workflow needs. */
export type OutboxItem = ClaimedRow &
  (
    | {
        readonly kind: 'start_task';
        readonly subjectId: TaskId;
        readonly model: string;
        readonly route: string | null;
        readonly definitionHash: string;
        readonly requestHash: string | null;
        /** Whether it is the line of a batch. */
        readonly isOfBatch: boolean;
      }
    | { readonly kind: TaskKind; readonly subjectId: TaskId }
    | { readonly kind: 'promote_output'; readonly subjectId: string }
  );

/**
 * The duration of the lease of a claimed row: longer than the launcher waits for Temporal, so that a row is not
 * delivered twice at the same time.
 */
export const OUTBOX_LEASE_SECONDS = 15;

/** The longest interval at which a row that keeps failing is retried. */
const MAX_BACKOFF_SECONDS = 60;

/**
 * Commits this statement without waiting until it is on disk. A claim or a removal that a crash undoes is made again,
 * and what was delivered meanwhile is delivered twice, which the workflow id makes harmless; waiting would hold the
 * account's row, and with it every create of that account, for a disk write each time.
 */
const WITHOUT_WAITING_FOR_DISK = `(SELECT set_config('synchronous_commit', 'off', true)) = 'off'`;

/** Admits waiting starts to the running slots of `ready_accounts`, whose rows are locked, each in its queue's order. */
const ADMIT = `admitted AS (
           SELECT o.id, a.account_id
             FROM ready_accounts a
            CROSS JOIN LATERAL (
                  SELECT id FROM outbox WHERE account_id = a.account_id AND NOT is_ready
                   ORDER BY id LIMIT a.free FOR UPDATE SKIP LOCKED) o
            LIMIT $1),
         counted AS (
           UPDATE account_counters c SET running = c.running + n.admissions, queued = c.queued - n.admissions
             FROM (SELECT account_id, count(*)::integer AS admissions FROM admitted GROUP BY account_id) n
            WHERE c.account_id = n.account_id)`;

/** Leases the rows that `taken` names. */
const LEASE = `claimed AS (
           UPDATE outbox o
              SET is_ready = true, deliveries = o.deliveries + 1,
                  due_at = now() + make_interval(secs => least($2 * power(2, least(o.deliveries, 8)), $3))
            WHERE o.id IN (SELECT id FROM taken) AND ${WITHOUT_WAITING_FOR_DISK}
        RETURNING o.id, o.kind, o.subject_id, o.account_id, o.deliveries - 1 AS deliveries)
         SELECT c.id, c.kind, c.subject_id AS "subjectId", c.account_id AS "accountId", c.deliveries, t.model, t.route,
                t.definition_hash AS "definitionHash", ${REQUEST_HASH} AS "requestHash",
                t.batch_id IS NOT NULL AS "isOfBatch"
           FROM claimed c LEFT JOIN tasks t ON t.id = c.subject_id AND c.kind = 'start_task'`;

/**
 * Admits waiting starts, and claims them together with whatever else is due. Only accounts with a free slot are examined
 * (by index); the available room is divided among accounts chosen at random, so that no account's backlog delays the
 * first task of another account.
 *
 * Waits for no lock at all: a process that stalled in the middle of a transaction holds its account's row, and every
 * account behind it in the order of ids would wait as well. An account whose row is locked is returned in a row
 * without an id. A settlement takes the two locks, account and outbox row, in the opposite order, and cannot deadlock
 * with this.
 */
const claim: Statement = {
  name: 'claim_outbox',
  text: `WITH chosen AS MATERIALIZED (
           SELECT account_id FROM account_counters WHERE is_launchable ORDER BY random() LIMIT $1),
         ready_accounts AS (
           SELECT account_id,
                  least(running_cap - running, greatest(1, $1::integer / (SELECT count(*)::integer FROM chosen))) AS free
             FROM account_counters
            WHERE account_id IN (SELECT account_id FROM chosen) AND is_launchable
            ORDER BY account_id FOR UPDATE SKIP LOCKED),
         ${ADMIT},
         due AS (
           SELECT id FROM outbox WHERE is_ready AND due_at <= now()
            ORDER BY due_at LIMIT $1 FOR UPDATE SKIP LOCKED),
         taken AS (SELECT id FROM admitted UNION ALL SELECT id FROM due),
         ${LEASE}
          UNION ALL
         SELECT NULL, NULL, NULL, account_id, NULL, NULL, NULL, NULL, NULL, NULL
           FROM chosen WHERE account_id NOT IN (SELECT account_id FROM ready_accounts)
          ORDER BY id`,
};

/**
 * The longest wait for an account's row, in milliseconds: longer than a busy account's consecutive transactions hold
 * it, and much shorter than a claim may take.
 */
const ACCOUNT_WAIT_MS = 1_000;

/**
 * The same for one account, waiting for its row: that of a busy account is hardly ever found unlocked, because a
 * transaction that waits for it gets it first.
 */
const claimOfAccount: Statement = {
  name: 'claim_outbox_of_account',
  text: `WITH ready_accounts AS (
           SELECT account_id, running_cap - running AS free FROM account_counters
            WHERE account_id = $4 AND is_launchable
              AND (SELECT set_config('lock_timeout', '${ACCOUNT_WAIT_MS}', true)) IS NOT NULL
              FOR UPDATE),
         ${ADMIT},
         taken AS (SELECT id FROM admitted),
         ${LEASE}
          ORDER BY c.id`,
};

const LEASE_PARAMETERS = [OUTBOX_LEASE_SECONDS, MAX_BACKOFF_SECONDS] as const;

/**
 * Claims at most `limit` admissions and `limit` due rows for the length of a lease.
 *
 * @param onLocked is called with each account that was skipped because its row is locked (`claimOutboxOfAccount`).
 */
export async function claimOutbox(
  database: Queryable,
  limit: number,
  onLocked?: (accountId: string) => void,
): Promise<readonly OutboxItem[]> {
  const rows = await database.query<OutboxItem | LockedAccount>(claim, [limit, ...LEASE_PARAMETERS]);
  return rows.filter((row) => {
    if (row.id !== null) return true;
    onLocked?.(row.accountId);
    return false;
  }) as readonly OutboxItem[];
}

interface LockedAccount {
  readonly id: null;
  readonly accountId: string;
}

/**
 * Claims at most `limit` admissions of one account, waiting up to a second for its row. Holds a connection meanwhile.
 *
 * @throws {LockTimeoutError} it stays locked; nothing was claimed.
 */
export async function claimOutboxOfAccount(
  database: Queryable,
  accountId: string,
  limit: number,
): Promise<readonly OutboxItem[]> {
  return database.query<OutboxItem>(claimOfAccount, [limit, ...LEASE_PARAMETERS, accountId]);
}

/**
 * By an array, not `IN`: the table is empty most of the time, and PostgreSQL's statistics still say so when a backlog
 * has built up. It would run the subquery again for every row of the backlog.
 */
const giveBack: Statement = {
  name: 'give_back_outbox',
  text: `UPDATE outbox SET due_at = now()
          WHERE id = ANY (ARRAY (
                  SELECT id FROM outbox
                   WHERE id = ANY ($1) AND is_ready AND due_at > now() AND deliveries > 0 FOR UPDATE SKIP LOCKED))
            AND ${WITHOUT_WAITING_FOR_DISK}`,
};

/** Ends leases early: what was claimed and not delivered is due at once, for any process. */
export async function releaseOutboxLease(database: Queryable, ids: readonly bigint[]): Promise<void> {
  await database.query(giveBack, [ids]);
}

/**
 * How long a row has been undelivered since it was first due: the leases that it has had, and the elapsed part of the
 * last one.
 *
 * @param deliveries how often it was claimed.
 * @param dueSeconds how long it has been due; below 0: in how long it comes due again.
 */
export function outboxWaitSeconds(deliveries: number, dueSeconds: number): number {
  let leases = 0;
  for (let claim = 0; claim < deliveries; claim++) {
    const lease = OUTBOX_LEASE_SECONDS * 2 ** claim;
    // From here on all leases are equal.
    if (lease >= MAX_BACKOFF_SECONDS) {
      leases += MAX_BACKOFF_SECONDS * (deliveries - claim);
      break;
    }
    leases += lease;
  }
  return Math.max(leases + dueSeconds, 0);
}

/**
 * A row that a settlement removes at this moment is left to it: it locks a task's rows in another order. By an array, as
 * above.
 */
const remove: Statement = {
  name: 'remove_outbox',
  text: `DELETE FROM outbox
          WHERE id = ANY (ARRAY (
                  SELECT id FROM outbox WHERE id = ANY ($1) AND deliveries > 0 FOR UPDATE SKIP LOCKED))
            AND ${WITHOUT_WAITING_FOR_DISK}`,
};

/** Temporal has them: the rows are done with. One that was requested again meanwhile stays. */
export async function removeOutbox(database: Queryable, ids: readonly bigint[]): Promise<void> {
  await database.query(remove, [ids]);
}

const insertRequest: Statement = {
  name: 'insert_outbox_request',
  text: `INSERT INTO outbox (kind, account_id, subject_id, is_ready) VALUES ($1, $2, $3, true)
         ON CONFLICT (kind, subject_id) DO UPDATE SET due_at = now(), deliveries = 0`,
};

/**
 * Requests work from Temporal, in the transaction that decides it. A row that exists already is due again at once: a
 * claim of it may have been delivered before this decision.
 *
 * @param subjectId the task's id, the output's, the batch's or the text call's.
 */
export async function requestWork(
  transaction: Queryable,
  kind: OutboxKind,
  accountId: string,
  subjectId: string,
): Promise<void> {
  await transaction.query(insertRequest, [kind, accountId, subjectId]);
}

const insertRestart: Statement = {
  name: 'insert_restart',
  text: `INSERT INTO outbox (kind, account_id, subject_id, is_ready)
         SELECT 'start_task', account_id, id, true FROM tasks WHERE id = $1 AND completed_at IS NULL
         ON CONFLICT (kind, subject_id) DO NOTHING
         RETURNING id`,
};

/**
 * Restarts a task whose workflow cannot be found. It keeps the running slot it was given.
 *
 * @returns whether a row was added.
 */
export async function requestRestart(transaction: Queryable, taskId: TaskId): Promise<boolean> {
  const rows = await transaction.query(insertRestart, [taskId]);
  return rows.length === 1;
}

const selectStart: Statement = {
  name: 'select_start',
  text: `SELECT 1 FROM outbox WHERE kind = 'start_task' AND subject_id = $1`,
};

/** Whether a start is still to be delivered: such a task is late, not lost. */
export async function hasStart(database: Queryable, taskId: TaskId): Promise<boolean> {
  const rows = await database.query(selectStart, [taskId]);
  return rows.length > 0;
}

/** The maximum number of callbacks in one pass, which is one transaction. The next pass follows a minute later. */
const STALLED_CALLBACKS_AT_ONCE = 1_000;

const insertStalledCallbacks: Statement = {
  name: 'insert_stalled_callbacks',
  text: `WITH stalled AS (
           SELECT c.task_id, c.account_id
             FROM callbacks c
            WHERE c.state = 'pending'
              AND coalesce(c.next_attempt_at,
                           (SELECT max(a.started_at) FROM callback_attempts a WHERE a.task_id = c.task_id),
                           c.created_at) < now() - interval '2 minutes'
              AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.kind = 'deliver_callback' AND o.subject_id = c.task_id)
            ORDER BY c.asked_again_at NULLS FIRST, c.created_at, c.task_id
            LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED),
         marked AS (
           UPDATE callbacks c SET asked_again_at = now() FROM stalled s WHERE c.task_id = s.task_id)
         INSERT INTO outbox (kind, account_id, subject_id, is_ready)
         SELECT 'deliver_callback', account_id, task_id, true FROM stalled
         ON CONFLICT (kind, subject_id) DO NOTHING
         RETURNING subject_id AS "taskId"`,
};

/**
 * Requests deliveries again that are well overdue: their workflow was terminated, or lost with Temporal's database.
 * Where it still runs, the start is rejected as a duplicate and nothing happens (processes/outbox-delivery.ts). Those
 * that were requested longest ago come first, so that each has its turn however many of them never end.
 *
 * @param limit of one pass.
 * @returns the tasks whose callbacks they are.
 */
export async function requestStalledCallbacks(
  database: Queryable,
  limit: number = STALLED_CALLBACKS_AT_ONCE,
): Promise<readonly TaskId[]> {
  const rows = await database.query<{ taskId: TaskId }>(insertStalledCallbacks, [limit]);
  return rows.map(({ taskId }) => taskId);
}
