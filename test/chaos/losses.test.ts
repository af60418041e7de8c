/** When the storm's faults may have kept a process from settling its text calls, or cut their requests. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { interruptionsOf, unsettledTimesOf } from './losses.ts';
import type { Fault } from './schedule.ts';
import type { FaultRecord } from './storm.ts';

function fired(fault: Pick<Fault, 'kind' | 'target'>, begun: number, ended: number): FaultRecord {
  const whole = { ...fault, atMs: 0, forMs: ended - begun } as Fault;
  return { fault: whole, begun, ended, hasFired: true, evidence: 'seen' };
}

describe('the times whose text calls may not be settled by their process', () => {
  it('reach from the outage of the database in which an api was stopped until then', () => {
    const outage = fired({ kind: 'reset', target: 'api-postgres' }, 10_000, 20_000);
    const stop = fired({ kind: 'pause', target: 'api-2' }, 18_000, 48_000);

    assert.deepEqual(unsettledTimesOf([outage, stop]), [{ from: 10_000, until: 19_000 }]);
  });

  it('are the last second of an api that was stopped while the database was there', () => {
    const outage = fired({ kind: 'reset', target: 'api-postgres' }, 10_000, 20_000);
    const stop = fired({ kind: 'kill', target: 'api-1' }, 30_000, 31_000);

    assert.deepEqual(unsettledTimesOf([outage, stop]), [{ from: 29_000, until: 31_000 }]);
  });

  it('are none where no api was stopped', () => {
    const outage = fired({ kind: 'kill', target: 'postgres' }, 10_000, 20_000);
    const stop = fired({ kind: 'kill', target: 'worker-1' }, 12_000, 13_000);

    assert.deepEqual(unsettledTimesOf([outage, stop]), []);
  });
});

describe('the times in which a text call may have been cut', () => {
  it('include those in which a trial froze an api, and not those in which it froze a worker', () => {
    const api = fired({ kind: 'freeze', target: 'accept' }, 10_000, 40_000);
    const worker = fired({ kind: 'freeze', target: 'settlement' }, 50_000, 80_000);

    assert.deepEqual(interruptionsOf([api, worker], []), [{ from: 10_000, until: 50_000 }]);
  });
});
