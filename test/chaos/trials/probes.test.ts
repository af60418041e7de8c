/** Which measured periods can show that accounts wait for one another. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { describe, it } from 'node:test';
import { letPass } from '../../support/let-pass.ts';
import { isConclusive } from './probes.ts';
import { readProcessorTime, waitsBetween } from './processor-waits.ts';
import type { ProbedPeriod } from './trial.ts';

const MS = 8_000;
const MEASURED_MS = 1_000;

/** @param processorWaits for each millisecond that the processes ran. */
function period(tookMs: number, processorWaits = 0, count = 8): ProbedPeriod {
  const took = Array.from({ length: count }, () => tookMs);
  return {
    ms: MS,
    processorWaits,
    took: { create: took, settlement: took, cancel: took },
    done: { create: count, settlement: count, cancel: count },
  };
}

describe('a period in which others were measured', () => {
  it('shows waiting beside one before it on a machine that was fast enough', () => {
    assert.equal(isConclusive(period(300), period(7_000)), true);
    assert.equal(isConclusive(period(300, 1), period(7_000, 1.6)), true);
    assert.equal(isConclusive(period(300, 1), period(7_000, 0.2)), true);
  });

  it('shows nothing where the machine was slow before, or too little was done', () => {
    assert.equal(isConclusive(period(4_000), period(7_000)), false);
    assert.equal(isConclusive(period(300, 0, 4), period(7_000)), false);
  });

  it('shows nothing where the machine was busier than before', () => {
    assert.equal(isConclusive(period(300, 0.5), period(7_000, 1)), false);
  });
});

describe('the waits for a processor', { skip: process.platform !== 'linux' }, () => {
  const SPIN =
    'process.stdin.resume(); setInterval(() => { const end = Date.now() + 50; while (Date.now() < end); }, 50);';

  it('are those of processes that were started, and more where there are more of them than processors', async (t) => {
    const start = (): void => {
      const child = spawn(process.execPath, ['-e', SPIN], { stdio: ['pipe', 'ignore', 'inherit'] });
      t.after(() => child.kill());
    };
    const measure = async (): Promise<number> => {
      const before = await readProcessorTime();
      await letPass(MEASURED_MS);
      return waitsBetween(before, await readProcessorTime());
    };
    start();
    await letPass(MEASURED_MS);
    const alone = await measure();
    for (let more = 0; more < 4 * availableParallelism(); more++) start();
    await letPass(MEASURED_MS);

    const crowded = await measure();

    assert.ok(crowded > alone && crowded > 1, `${alone}, then ${crowded}`);
  });

  it('are none where threads ran without any', () => {
    const before = new Map([['1/1', { ran: 10, waited: 5 }]]);
    const after = new Map([
      ['1/1', { ran: 20, waited: 5 }],
      ['1/2', { ran: 10, waited: 10 }],
    ]);

    assert.equal(waitsBetween(before, before), 0);
    assert.equal(waitsBetween(before, after), 0.5);
  });
});
