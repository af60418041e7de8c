/**
 * What a task costs at Temporal Cloud: the billable actions that a real server counts are at most those of the table in
 * docs/operations/temporal.md, which `npm run bench -- actions` makes. Heartbeats are compared only where their number
 * does not depend on how fast the machine is.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { packageFile } from '../../src/config/package-root.ts';
import { KINDS, WorkCounter } from '../support/counted-work.ts';
import type { CountedWork } from '../support/counted-work.ts';

/** Shorter than the ten seconds of the table. */
const WORK_MS = 1_000;
/** The promise for a task without a callback at an upstream that answers with the result. */
const PROMISED_ACTIONS = 10;
/**
 * How often work is counted that took more than it should: what a worker cannot finish within seconds on a busy machine
 * continues as an activity of its own.
 */
const MOST_TRIES = 3;

interface Documented {
  readonly actions: number;
  readonly heartbeats: number;
}

/** The rows of the table, by the name of the work without the time of its upstream. */
async function readDocumented(): Promise<ReadonlyMap<string, Documented>> {
  const page = await readFile(packageFile('docs/operations/temporal.md'), 'utf8');
  const rows = page.matchAll(/^\| ([^|]+?)(?:, 10 s)? +\| (\d+) +\| (\d+) +\| \d+ +\| \d+ +\|$/gm);
  return new Map(
    [...rows].map(([, work = '', actions, heartbeats]) => [
      work,
      { actions: Number(actions), heartbeats: Number(heartbeats) },
    ]),
  );
}

function othersThanHeartbeats({ actions, heartbeats }: CountedWork): number {
  return actions - heartbeats;
}

describe('the billable actions of a task', () => {
  let counter: WorkCounter;
  let documented: ReadonlyMap<string, Documented>;
  before(async () => {
    documented = await readDocumented();
    const metricsUrl = process.env['DARKROOM_TEST_TEMPORAL_METRICS'];
    assert.ok(metricsUrl, 'the run has a Temporal server with metrics');
    counter = await WorkCounter.start(metricsUrl);
  });
  after(() => counter?.stop());

  for (const kind of Object.values(KINDS)) {
    it(`are as documented: ${kind.title}`, async (t) => {
      const row = documented.get(kind.title);
      assert.ok(row !== undefined, 'the table has a row for it');
      const most = row.actions - row.heartbeats;
      let least = Infinity;
      for (let tries = 0; least > most && tries < MOST_TRIES; tries += 1) {
        const counted = await counter.count(kind, WORK_MS);
        t.diagnostic(`${counted.actions}: ${JSON.stringify(Object.fromEntries(counted.byType))}`);
        least = Math.min(least, othersThanHeartbeats(counted));
      }
      assert.equal(least, most);
    });
  }

  it('are at most ten for a synchronous task whose upstream takes ten seconds', () => {
    const row = documented.get(KINDS['synchronous']?.title ?? '');
    assert.ok(row !== undefined && row.actions <= PROMISED_ACTIONS, JSON.stringify(row));
  });
});
