/** What Temporal's SDK logs while our activities run: nothing about their heartbeats, and never in its own format. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { it } from 'node:test';
import { promisify } from 'node:util';
import { packageModule } from '../../src/config/package-root.ts';
import { temporalAddress } from '../support/test-namespace.ts';

const INFO = 30;
const BEAT = /Activity heartbeat failed/;

/** The whole output of a worker process in which the activity ran locally. */
async function linesOf(activity: 'wrapped' | 'rogue'): Promise<string[]> {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [
    packageModule('test/temporal/fixtures/beating-worker.ts'),
    temporalAddress(),
    activity,
  ]);
  return `${stdout}${stderr}`.split('\n').filter((line) => line !== '');
}

it("writes warnings of the SDK's native part as log records of ours, one level lower", async () => {
  const lines = await linesOf('rogue');
  const line = lines.find((each) => BEAT.test(each));
  assert.ok(line !== undefined, lines.join('\n'));

  // No colours, no format of its own.
  const { level, msg, role, temporal } = JSON.parse(line) as Record<string, unknown>;
  assert.equal(level, INFO);
  assert.match(String(msg), BEAT);
  assert.equal(role, 'worker');
  assert.match(JSON.stringify(temporal), /UnknownActivity/);
  assert.deepEqual(
    lines.filter((each) => !each.startsWith('{"level":')),
    [],
  );
});

it('sends no heartbeat of a local activity', async () => {
  const lines = await linesOf('wrapped');
  assert.deepEqual(
    lines.filter((each) => BEAT.test(each)),
    [],
  );
});
