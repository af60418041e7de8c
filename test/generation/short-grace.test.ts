/** Operators learn for which models a deploy may interrupt a paid call. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { warnOfShortGrace } from '../../src/generation/short-grace.ts';
import type { TaskRoute } from '../../src/generation/task-route.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { definition } from '../catalogue/definitions.ts';

const GRACE_SECONDS = 900;

/** The warnings of a process in which some submits start. */
function warningsOf(
  routes: readonly Partial<TaskRoute['provider'] & { handlingSeconds: number }>[],
): readonly unknown[] {
  const warnings: unknown[] = [];
  const logger = Object.assign(silentLogger(), { warn: (fields: unknown) => warnings.push(fields) });
  const config = { worker: { upstreamGraceMs: GRACE_SECONDS * 1000 } };
  for (const { handlingSeconds = GRACE_SECONDS + 1, ...facts } of routes) {
    const provider = { worksWhileSubmitting: true, isSubmitRepeatable: false, ...facts } as TaskRoute['provider'];
    const model = definition({ name: 'acme/slow', limits: { handlingSeconds } });
    warnOfShortGrace({ config, logger }, { definition: model, provider, upstreamName: 'acme' });
  }
  return warnings;
}

describe('the grace period of a stopping worker', () => {
  it('is compared with the longest synchronous response of a model, once per process', () => {
    assert.deepEqual(warningsOf([{}, {}]), [
      { model: 'acme/slow', upstream: 'acme', handlingSeconds: GRACE_SECONDS + 1, graceSeconds: GRACE_SECONDS },
    ]);
  });

  it('does not matter for jobs, for submits that may be repeated, and for models that are as fast', () => {
    const quick = { handlingSeconds: GRACE_SECONDS };
    assert.deepEqual(warningsOf([{ worksWhileSubmitting: false }, { isSubmitRepeatable: true }, quick]), []);
  });
});
