/**
 * What must hold when the batch has ended, whatever was killed meanwhile: every line has one result, one task and one
 * workflow, and every micro-USD is accounted for.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { WireBatch } from '@darkroom/api/openai/batches';
import { verifyLedger } from '../../../src/billing/verify.ts';
import { BatchClient } from '../../e2e/batch-client.ts';
import type { ResultLine } from '../../e2e/batch-client.ts';
import { BALANCE_MICRO_USD, PRICE_MICRO_USD } from './installation.ts';
import type { Installation } from './installation.ts';

/** Temporal lists workflows a little later than it has started them. */
const LISTED_WITHIN_MS = 60_000;

const selectMoney = {
  name: 'bench_batch_money',
  text: `SELECT c.available_micro_usd AS available, c.held_micro_usd AS held, c.queued, c.running,
                (SELECT count(*)::integer FROM tasks t WHERE t.account_id = c.account_id) AS tasks,
                (SELECT count(*)::integer FROM tasks t
                  WHERE t.account_id = c.account_id AND t.status = 'success') AS succeeded,
                (SELECT count(*)::integer FROM ledger_entries e
                  WHERE e.account_id = c.account_id AND e.kind = 'capture') AS captures,
                (SELECT coalesce(sum(e.amount_micro_usd), 0)::bigint FROM ledger_entries e
                  WHERE e.account_id = c.account_id AND e.kind = 'capture') AS captured
           FROM account_counters c WHERE c.account_id = $1`,
};

interface Money {
  readonly available: bigint;
  readonly held: bigint;
  readonly queued: number;
  readonly running: number;
  readonly tasks: number;
  readonly succeeded: number;
  readonly captures: number;
  readonly captured: bigint;
}

export interface Outcome {
  readonly succeeded: number;
  readonly failed: number;
  /** What does not hold. */
  readonly violations: readonly string[];
}

/** @param ids those of the lines, in order. @param interactive how many tasks the account created beside its batch. */
export async function examineOutcome(
  installation: Installation,
  batch: WireBatch,
  ids: readonly string[],
  interactive: number,
): Promise<Outcome> {
  const { darkroom, account } = installation;
  const violations: string[] = [];
  const expect = (what: string, found: unknown, expected: unknown): void => {
    if (found !== expected) violations.push(`${what}: ${String(found)}, expected ${String(expected)}`);
  };
  const client = new BatchClient(darkroom.url, account);
  const results = await client.results(batch.output_file_id);
  const errors = await client.results(batch.error_file_id);
  expect('status of the batch', batch.status, 'completed');
  expect('completed lines', batch.request_counts?.completed, results.length);
  expect('failed lines', batch.request_counts?.failed, errors.length);
  expect('lines that failed', errors.length, 0);
  violations.push(...lineViolations(ids, [...results, ...errors]));

  const [money] = await darkroom.testDatabase.database.query<Money>(selectMoney, [account.id]);
  if (money === undefined) throw new Error('the account has no counters');
  const tasks = ids.length + interactive;
  expect('tasks', money.tasks, tasks);
  expect('tasks that succeeded', money.succeeded, results.length + interactive);
  expect('captures', money.captures, money.succeeded);
  expect('captured', money.captured, BigInt(money.succeeded) * PRICE_MICRO_USD);
  expect('balance', money.available, BALANCE_MICRO_USD - money.captured);
  expect('held', money.held, 0n);
  expect('queued', money.queued, 0);
  expect('running', money.running, 0);
  for (const { rule, subject, detail } of await verifyLedger(darkroom.testDatabase.database)) {
    violations.push(`ledger: ${rule}: ${subject}: ${detail}`);
  }
  expect('runs of workflows', await countRuns(installation, tasks), tasks);
  return { succeeded: results.length, failed: errors.length, violations };
}

/** Each line must occur once, with a task of its own. */
function lineViolations(ids: readonly string[], lines: readonly ResultLine[]): readonly string[] {
  const violations: string[] = [];
  const found = new Map<string | null, number>();
  for (const { custom_id: id } of lines) found.set(id, (found.get(id) ?? 0) + 1);
  const missing = ids.filter((id) => !found.has(id));
  if (missing.length > 0) violations.push(`${missing.length} lines without a result, such as ${missing[0]}`);
  const repeated = [...found].filter(([, count]) => count > 1);
  if (repeated.length > 0)
    violations.push(`${repeated.length} lines with several results, such as ${repeated[0]?.[0]}`);
  if (found.size > ids.length) violations.push(`${found.size} different lines of ${ids.length}`);
  const tasks = new Set(lines.map(({ response }) => response?.request_id));
  if (tasks.size !== lines.length) violations.push(`${lines.length} results of ${tasks.size} tasks`);
  return violations;
}

/** How many runs of task workflows Temporal lists; a workflow that was started twice is listed twice. */
async function countRuns({ darkroom, account }: Installation, expected: number): Promise<number> {
  const query = `AccountId = '${account.id}' AND WorkflowType = 'mediaTask'`;
  const end = performance.now() + LISTED_WITHIN_MS;
  for (;;) {
    const { count } = await darkroom.temporal.workflow.count(query);
    if (count >= expected || performance.now() > end) return count;
    await sleep(1_000);
  }
}
