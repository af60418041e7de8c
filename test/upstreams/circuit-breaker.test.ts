/**
 * The circuit breaker in SQL against the one in TypeScript: the same events lead to the same states. They run in one
 * transaction, whose time stands still, so that even the last moment of a window can be compared.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import type { Queryable } from '../../src/database/database.ts';
import { newId } from '../../src/domain/ids.ts';
import {
  CLOSED_CIRCUIT,
  afterFailure,
  claimProbe,
  claimUpstreamProbe,
  countUpstreamFailure,
  forgetUpstreamFailures,
  readState,
} from '../../src/upstreams/states.ts';
import type { Circuit } from '../../src/upstreams/states.ts';
import { createTestDatabase } from '../support/test-database.ts';

type Event = 'failure' | 'response' | 'probe' | { readonly waitSeconds: number };

/** The ends of the windows, and what is one second beside them. */
const WAITS = [1, 29, 30, 31, 59, 60, 61];
const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 6, arbitrary: fc.constant('failure' as const) },
  { weight: 1, arbitrary: fc.constant('response' as const) },
  { weight: 2, arbitrary: fc.constant('probe' as const) },
  { weight: 2, arbitrary: fc.constantFrom(...WAITS).map((waitSeconds) => ({ waitSeconds })) },
);

const letPass = {
  name: 'let_circuit_time_pass',
  text: `UPDATE upstream_states SET open_until = open_until - make_interval(secs => $2),
                failing_since = failing_since - make_interval(secs => $2) WHERE upstream = $1`,
};

/** Applies an event to both. @returns the circuit and the time after it. */
async function apply(
  transaction: Queryable,
  upstream: string,
  { circuit, now }: { readonly circuit: Circuit; readonly now: number },
  step: Event,
): Promise<{ readonly circuit: Circuit; readonly now: number }> {
  if (step === 'failure') {
    const next = afterFailure(circuit, now);
    assert.equal(await countUpstreamFailure(transaction, upstream), next.openUntil !== undefined);
    return { circuit: next, now };
  }
  if (step === 'response') {
    await forgetUpstreamFailures(transaction, upstream);
    return { circuit: CLOSED_CIRCUIT, now };
  }
  if (step === 'probe') {
    const next = claimProbe(circuit, now);
    assert.equal(await claimUpstreamProbe(transaction, upstream), next !== undefined);
    return { circuit: next ?? circuit, now };
  }
  await transaction.query(letPass, [upstream, step.waitSeconds]);
  return { circuit, now: now + step.waitSeconds * 1000 };
}

describe('the circuit breaker of tasks and that of text', () => {
  let testDatabase: Awaited<ReturnType<typeof createTestDatabase>>;
  before(async () => {
    testDatabase = await createTestDatabase();
  });
  after(() => testDatabase.close());

  it('have the same state after every event', async () => {
    let opened = 0;
    const sequence = fc.asyncProperty(fc.array(event, { minLength: 5, maxLength: 30 }), async (events) => {
      const upstream = newId('req');
      await testDatabase.database.transaction(async (transaction) => {
        let state = { circuit: CLOSED_CIRCUIT, now: 0 };
        for (const step of events) {
          state = await apply(transaction, upstream, state, step);
          const { failures, isBroken, openMs } = await readState(transaction, upstream);
          const { circuit, now } = state;
          const expected = {
            failures: circuit.failures,
            isBroken: circuit.openUntil !== undefined,
            openMs: Math.max(0, (circuit.openUntil ?? 0) - now),
          };
          assert.deepEqual({ failures, isBroken, openMs }, expected);
          if (isBroken) opened += 1;
        }
      });
    });
    await fc.assert(sequence, { numRuns: 100 });
    assert.ok(opened > 100, `the circuit was open ${opened} times`);
  });

  it('close with a response, whatever was before, and with nothing else', () => {
    let circuit = CLOSED_CIRCUIT;
    for (let failure = 0; failure < 5; failure++) circuit = afterFailure(circuit, failure);
    assert.equal(circuit.openUntil, 30_004);
    assert.equal(claimProbe(circuit, 30_003), undefined);
    const probing = claimProbe(circuit, 30_004) ?? assert.fail();
    assert.equal(claimProbe(probing, 90_003), undefined);
    assert.notEqual(claimProbe(probing, 90_004), undefined);
    // A failure an hour later is not the first of a new incident: nothing has responded since.
    assert.equal(afterFailure(probing, 3_600_000).openUntil, 3_630_000);
  });
});
