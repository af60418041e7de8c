/**
 * The SQL of lists. A list costs what it shows, however many tasks there are: it walks one index, newest first, and
 * stops. The statements leave the planner no choice of an index, because its estimates are averages over all accounts,
 * models and keys, and where they are wrong it would read a whole account:
 * - the filter that leads is ordered as only its own index is (NULLS LAST, migrations/0001_schema.sql);
 * - further filters stand in `coalesce`, which no index serves and which is estimated to match half of the tasks;
 * - limits that are constants show how few rows are wanted, also where a plan is made for any parameters. There are few
 *   different statements, because each is prepared once per connection.
 */
import type { Statement } from '../../database/database.ts';
import type { TaskStatus } from '@darkroom/api/facts/task-status';
import { TERMINAL_STATUSES, isTerminal } from '@darkroom/api/facts/task-status';
import { MAX_PAGED_TASKS, MAX_PAGE_SIZE } from '@darkroom/api/facts/limits';
import type { Lead, TaskFilter } from './list.ts';
import { TASK_DETAIL_COLUMNS } from '../record/read.ts';

/** Where a list begins and ends; times as PostgreSQL reads them. */
export interface Range {
  /** The beginning of the range, inclusive. */
  readonly from: string;
  /** Older than this row, or than this time where `id` is empty: every id is greater. */
  readonly before: { readonly createdAt: string; readonly id: string };
}

/** A statement with its parameters. */
export interface Call {
  readonly statement: Statement;
  readonly values: readonly unknown[];
}

/** Counts above this are not distinguished when leads are compared. */
export const PROBED = 1_000;

/** Newest first: as the account's own index is ordered, and as the indexes of filters are. */
const BY_ACCOUNT = 't.created_at DESC, t.id DESC';
const BY_FILTER = 't.created_at DESC NULLS LAST, t.id DESC NULLS LAST';

/** The page of a list, with details. @param page `offset` rows are skipped, then `rows` are listed. */
export function pageCall(
  accountId: string,
  filter: TaskFilter,
  lead: Lead,
  range: Range,
  page: { readonly offset: number; readonly rows: number },
): Call {
  const isFar = page.offset > 0;
  const reach = isFar ? MAX_PAGED_TASKS + 1 : MAX_PAGE_SIZE + 1;
  const { name, branches, values } = walk(accountId, filter, lead, range, reach);
  const rows = bind(values, page.rows, 'integer');
  const offset = isFar ? bind(values, page.offset, 'integer') : '0';
  const candidates = branches.map(
    ({ walked }) => `(SELECT * FROM (SELECT t.id, t.created_at ${walked}) b LIMIT ${offset} + ${rows})`,
  );
  return {
    statement: {
      name: `list_${isFar ? 'far_' : ''}tasks_${name}`,
      text: `SELECT d.*, (extract(epoch FROM p.created_at) * 1000000)::bigint AS "createdMicros"
               FROM (SELECT * FROM (
                       SELECT * FROM (${candidates.join(' UNION ALL ')}) t
                        ORDER BY ${orderOf(lead)} OFFSET ${offset} LIMIT ${rows}) q
                      LIMIT ${MAX_PAGE_SIZE + 1}) p
              CROSS JOIN LATERAL (SELECT ${TASK_DETAIL_COLUMNS} FROM tasks t WHERE t.id = p.id LIMIT 1) d
              ORDER BY p.created_at DESC, p.id DESC`,
    },
    values,
  };
}

/**
 * How many tasks match, in each index that is walked at most one more than a total can show. `stay`: those that will
 * always match; `leave`: those whose status will change.
 */
export function countCall(accountId: string, filter: TaskFilter, lead: Lead, range: Range): Call {
  const { name, branches, values } = walk(accountId, filter, lead, range, MAX_PAGED_TASKS + 1);
  const parts = branches.map(({ walked, stays }) => `(SELECT ${stays} AS stays ${walked})`);
  return {
    statement: {
      name: `count_tasks_${name}`,
      text: `SELECT count(*) FILTER (WHERE stays)::integer AS stay, count(*) FILTER (WHERE NOT stays)::integer AS leave
               FROM (${parts.join(' UNION ALL ')}) c`,
    },
    values,
  };
}

/** How many tasks a lead has by itself, counted up to `PROBED`. */
export function probeCall(accountId: string, lead: Lead, range: Range): Call {
  const { name, branches, values } = walk(accountId, {}, lead, range, PROBED);
  const parts = branches.map(({ walked }) => `(SELECT 1 ${walked})`);
  return {
    statement: {
      name: `probe_tasks_${name}`,
      text: `SELECT count(*)::integer AS found FROM (SELECT 1 FROM (${parts.join(' UNION ALL ')}) c LIMIT ${PROBED}) p`,
    },
    values,
  };
}

interface Walk {
  /** The end of the statement's name, after its purpose. */
  readonly name: string;
  readonly branches: readonly Branch[];
  readonly values: unknown[];
}

/** A walk of one index: `walked` follows the columns that are selected of each task `t`. */
interface Branch {
  readonly walked: string;
  /** An SQL condition: whether a task will always match. */
  readonly stays: string;
}

/**
 * @param filter what the lead already covers does no harm.
 * @param reach no branch is walked past this many matching tasks.
 */
function walk(accountId: string, filter: TaskFilter, lead: Lead, range: Range, reach: number): Walk {
  const values: unknown[] = [];
  const account = bind(values, accountId, 'text');
  const from = bind(values, range.from, 'timestamptz');
  const before = `(${bind(values, range.before.createdAt, 'timestamptz')}, ${bind(values, range.before.id, 'text')})`;
  const inRange = `t.account_id = ${account} AND t.created_at >= ${from} AND (t.created_at, t.id) < ${before}`;

  const leading = conditionsOf(lead, values);
  const remaining = furtherThan(lead, filter);
  const isMetadata = lead.by === 'metadata';
  const row = isMetadata ? 'r' : 't';
  const further = Object.keys(remaining).length === 0 ? undefined : furtherCondition(row, remaining, values);
  const table = isMetadata ? '(SELECT account_id, pair, created_at, task_id AS id FROM task_metadata) t' : 'tasks t';
  const [join, matches] =
    further === undefined
      ? ['', '']
      : isMetadata
        ? [
            `CROSS JOIN LATERAL (SELECT completed_at FROM tasks r WHERE r.id = t.id AND ${further.matches} LIMIT 1) r`,
            '',
          ]
        : ['', `AND ${further.matches}`];
  return {
    name: `by_${leading.name}${further === undefined ? '' : '_and_more'}`,
    values,
    branches: leading.branches.map(({ condition, stays }) => ({
      walked: `FROM ${table} ${join} WHERE ${inRange} AND ${condition} ${matches}
               ORDER BY ${orderOf(lead)} LIMIT ${reach}`,
      stays: stays ?? further?.stays ?? 'true',
    })),
  };
}

function orderOf({ by }: Lead): string {
  return by === 'account' || by === 'metadata' ? BY_ACCOUNT : BY_FILTER;
}

interface Leading {
  readonly name: string;
  readonly branches: readonly { readonly condition: string; readonly stays?: 'true' | 'false' }[];
}

function conditionsOf(lead: Lead, values: unknown[]): Leading {
  switch (lead.by) {
    case 'account':
      return { name: 'account', branches: [{ condition: 'true' }] };
    case 'ids':
      return { name: 'ids', branches: [{ condition: `t.id = ANY (${bind(values, lead.ids, 'text[]')})` }] };
    case 'metadata': {
      const pair = `metadata_pair(${bind(values, lead.name, 'text')}, ${bind(values, lead.value, 'text')})`;
      return { name: 'metadata', branches: [{ condition: `t.pair = ${pair}` }] };
    }
    case 'key':
      return { name: 'key', branches: [{ condition: `t.key_id = ${bind(values, lead.keyId, 'text')}` }] };
    case 'model':
      return { name: 'model', branches: [{ condition: `t.model = ${bind(values, lead.model, 'text')}` }] };
    case 'status':
      return statusConditions(lead.statuses, values);
  }
}

/** Open tasks are few, whatever their status; finished ones have an index by status. */
function statusConditions(statuses: readonly TaskStatus[], values: unknown[]): Leading {
  const open = statuses.filter((status) => !isTerminal(status));
  const over = TERMINAL_STATUSES.filter((status) => statuses.includes(status));
  const isOpen = (): string =>
    `t.completed_at IS NULL AND coalesce(t.status = ANY (${bind(values, open, 'text[]')}), true)`;
  return {
    name: [...(open.length === 0 ? [] : ['open']), ...over].join('_'),
    branches: [
      ...(open.length === 0 ? [] : [{ condition: isOpen(), stays: 'false' as const }]),
      ...over.map((status) => ({
        condition: `t.completed_at IS NOT NULL AND t.status = '${status}'`,
        stays: 'true' as const,
      })),
    ],
  };
}

type Further = Pick<TaskFilter, 'model' | 'keyId' | 'statuses' | 'metadata'>;

/** The filters that the lead does not cover. */
function furtherThan(lead: Lead, { model, keyId, statuses, metadata }: TaskFilter): Further {
  const isCovered = lead.by === 'metadata' && metadata !== undefined && Object.keys(metadata).length === 1;
  return {
    ...(model === undefined || lead.by === 'model' ? {} : { model }),
    ...(keyId === undefined || lead.by === 'key' ? {} : { keyId }),
    ...(statuses === undefined || lead.by === 'status' ? {} : { statuses }),
    ...(metadata === undefined || isCovered ? {} : { metadata }),
  };
}

/** One text for all: an absent filter is NULL, and true. */
function furtherCondition(
  row: string,
  { model, keyId, statuses, metadata }: Further,
  values: unknown[],
): { readonly matches: string; readonly stays: string } {
  const pairs = bind(values, metadata === undefined ? null : JSON.stringify(metadata), 'jsonb');
  const wanted = bind(values, statuses ?? null, 'text[]');
  return {
    matches: [
      `coalesce(${row}.model = ${bind(values, model ?? null, 'text')}, true)`,
      `coalesce(${row}.key_id = ${bind(values, keyId ?? null, 'text')}, true)`,
      `coalesce(${row}.status = ANY (${wanted}), true)`,
      // Tasks without metadata have NULL there.
      `coalesce(${row}.metadata @> ${pairs}, ${pairs} IS NULL)`,
    ].join(' AND '),
    stays: `(${wanted} IS NULL OR ${row}.completed_at IS NOT NULL)`,
  };
}

/** Adds a parameter, and returns its name in the statement. */
function bind(values: unknown[], value: unknown, type: string): string {
  values.push(value);
  return `$${values.length}::${type}`;
}
