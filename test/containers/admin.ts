/** The commands of an operator. */
import assert from 'node:assert/strict';
import type { Stack } from './stack.ts';

/** The most that `admin ledger list` prints. */
const MOST_ENTRIES = 1_000;

/** Runs `admin` in a container of its own, as the documents show it. @returns what it prints as JSON. */
export async function admin(stack: Stack, ...args: readonly string[]): Promise<unknown> {
  return JSON.parse(await stack.compose('run', '--rm', '-T', 'api', 'admin', ...args, '--json')) as unknown;
}

/** Runs `admin` with arguments. @returns what it prints as JSON. */
export type RunAdmin = (...args: readonly string[]) => Promise<unknown>;

/** Runs it in the container of the api: a container of its own first runs again what the api depends on. */
export function adminInApi(stack: Stack): RunAdmin {
  const program = ['node', 'dist/src/main.js', 'admin'];
  return async (...args) =>
    JSON.parse(await stack.compose('exec', '-T', 'api', ...program, ...args, '--json')) as unknown;
}

/** @throws {Error} the ledger does not add up, or a task was not charged exactly once. */
export async function verifyCharges(runAdmin: RunAdmin, taskIds: readonly string[]): Promise<void> {
  assert.deepEqual(await runAdmin('ledger', 'verify'), { holds: true, violations: [] });
  const list = ['ledger', 'list', '--kind', 'capture', '--size', String(MOST_ENTRIES)];
  const { entries, nextCursor } = (await runAdmin(...list)) as {
    readonly entries: readonly { readonly reference: string }[];
    readonly nextCursor?: string;
  };
  assert.equal(nextCursor, undefined, 'there are more entries than are compared');
  for (const taskId of taskIds) {
    const captures = entries.filter(({ reference }) => reference === taskId).length;
    assert.equal(captures, 1, `${taskId} was charged ${captures} times`);
  }
}
