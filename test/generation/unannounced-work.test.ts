/**
 * What an upstream received of a task whose submit was not announced because it can be repeated: it may bill it, and
 * the operator's costs include it (src/billing/operator-costs.ts).
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { submitToUpstream } from '../../src/generation/submit-to-upstream.ts';
import type { SubmitAttempt } from '../../src/generation/attempt.ts';
import type { TaskRoute } from '../../src/generation/task-route.ts';
import { ProviderFailure, ProviderRejection, ProviderUnknown } from '../../src/providers/provider.ts';
import type { Submission } from '../../src/providers/provider.ts';
import { beginHandling } from '../../src/tasks/lifecycle/transitions.ts';
import { readGeneration } from '../../src/tasks/lifecycle/generations.ts';
import type { Generation } from '../../src/tasks/lifecycle/generations.ts';
import { definition } from '../catalogue/definitions.ts';
import { body, openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';
import { newAttempt } from './attempts.ts';
import { openGenerationBench } from './contexts.ts';
import type { GenerationBench } from './contexts.ts';
import { scriptedProvider } from './scripted-provider.ts';

describe('the cost of a submit that is repeatable and was not announced', () => {
  let room: TaskRoom;
  let bench: GenerationBench;
  before(async () => {
    room = await openTaskRoom();
    bench = openGenerationBench(room);
  });
  after(async () => {
    await bench.close();
    await room.close();
  });

  /** @returns what is recorded after the submit to the only upstream. */
  async function submitted(
    submit: (cancel: AbortController) => Promise<Submission>,
    isOurs = false,
  ): Promise<Generation | undefined> {
    const { taskId } = await room.creator.create(await room.newCaller(), body(), undefined);
    const { task } = await beginHandling(room.database, taskId, 60);
    const cancel = new AbortController();
    const route: TaskRoute = {
      upstreamName: 'one',
      upstreamIndex: 0,
      label: 1,
      definition: definition(),
      gated: isOurs ? undefined : { name: 'one' },
      balance: 'ordered',
      weight: 1,
      pool: undefined,
      provider: scriptedProvider({
        isSubmitRepeatable: true,
        worksWhileSubmitting: true,
        submit: () => submit(cancel),
      }),
      request: { taskId, upstream: { protocol: 'scripted', model: 'images' }, input: task.input },
    };
    const attempt: SubmitAttempt = {
      ...newAttempt(),
      context: bench.context,
      task,
      routes: [route],
      triedIndex: undefined,
      failedIndices: new Set(),
      stopSignal: cancel.signal,
      stopSignals: { requested: cancel.signal, deadline: cancel.signal },
      hasSlot: true,
      scratch: '',
      onProgress: () => undefined,
    };
    await submitToUpstream(attempt, route).catch(() => undefined);
    return readGeneration(room.database, taskId);
  }

  const taken = { state: 'intent', upstreamIndex: 0 };
  const placeOf = (generation: Generation | undefined) =>
    generation && { state: generation.state, upstreamIndex: generation.upstreamIndex };

  it('is recorded when it is unknown whether it was accepted', async () => {
    const unanswered = await submitted(() => Promise.reject(new ProviderUnknown({ code: 'ECONNRESET' })));

    assert.deepEqual(placeOf(unanswered), taken);
  });

  it('is recorded when it was interrupted by the end of its task', async () => {
    const cutOff = await submitted((cancel) => {
      cancel.abort(new Error('cancelled'));
      return Promise.reject(new Error('aborted'));
    });

    assert.deepEqual(placeOf(cutOff), taken);
  });

  it('is recorded when it produced nothing, whichever side found that', async () => {
    const empty = await submitted(() => Promise.resolve({ kind: 'done', files: [] }));
    const withoutOutput = await submitted(() => Promise.reject(new ProviderFailure('no_output')));

    assert.deepEqual([placeOf(empty), placeOf(withoutOutput)], [taken, taken]);
  });

  it('is not recorded when the upstream rejected it, or reports that it failed', async () => {
    const rejected = await submitted(() => Promise.reject(new ProviderRejection('provider_unavailable')));
    const failed = await submitted(() => Promise.reject(new ProviderFailure('provider_error')));

    assert.deepEqual([rejected, failed], [undefined, undefined]);
  });

  it('is recorded when the upstream reports what it consumed although it failed', async () => {
    const consumption = { costMicroUsd: 5n };
    const failed = await submitted(() => Promise.reject(new ProviderFailure('provider_error', { consumption })));
    const [row] = await room.rows(
      'SELECT cost_micro_usd AS cost, cost_source AS source FROM generations WHERE cost_micro_usd = 5',
    );

    assert.deepEqual(placeOf(failed), taken);
    assert.deepEqual(row, { cost: 5n, source: 'reported' });
  });

  it('is not recorded for an engine of our own, which sends no bill', async () => {
    const ours = await submitted(() => Promise.reject(new ProviderFailure('no_output')), true);

    assert.equal(ours, undefined);
  });
});
