/**
 * The steps that `migrate` prints for an operator, read and run as an operator does: by a shell, with the command
 * line of Temporal.
 */
import assert from 'node:assert/strict';
import { exec } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { ManualStepsError } from '../../src/temporal/manual-steps.ts';

const run = promisify(exec);

/** The commands that a failing `migrate` prints, each by its purpose. */
export async function printedSteps(migration: Promise<void>): Promise<ReadonlyMap<string, string>> {
  const error = await migration.then(
    () => assert.fail('it did not fail'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof ManualStepsError, String(error));
  return new Map(
    Array.from(error.message.matchAll(/^# (.+)\n(.+)$/gm), ([, what = '', command = '']) => [what, command]),
  );
}

/** @param environment of the operator's shell, in addition to what every process has. */
export async function runStep(command: string, environment: NodeJS.ProcessEnv = {}): Promise<void> {
  const cli = process.env['DARKROOM_TEST_TEMPORAL_CLI'];
  assert.ok(cli !== undefined);
  const PATH = `${path.dirname(cli)}${path.delimiter}${process.env['PATH'] ?? ''}`;
  await run(command, { env: { ...process.env, PATH, ...environment } });
}
