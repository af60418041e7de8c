/**
 * The next attempt of a submit that may not be sent twice: it waits for the previous one, and sends only what was not
 * sent.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createPinnedDefinitions } from '../../src/catalogue/pinned-definitions.ts';
import { GenerationFailure } from '../../src/generation/failure.ts';
import { submitGeneration } from '../../src/generation/submit.ts';
import { ProviderRejection } from '../../src/providers/provider.ts';
import { declareIntent, withdrawIntent } from '../../src/tasks/lifecycle/intents.ts';
import type { DeclaredIntent } from '../../src/tasks/lifecycle/intents.ts';
import { beginHandling } from '../../src/tasks/lifecycle/transitions.ts';
import { readGeneration } from '../../src/tasks/lifecycle/generations.ts';
import type { WorkingTask } from '../../src/tasks/lifecycle/transitions.ts';
import { definition } from '../catalogue/definitions.ts';
import { letPass } from '../support/let-pass.ts';
import { body, openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';
import type { SubmitResult } from '../../workflows/contracts.ts';
import { newAttempt } from './attempts.ts';
import { openGenerationBench } from './contexts.ts';
import type { GenerationBench } from './contexts.ts';
import { scriptedProvider } from './scripted-provider.ts';

const MODEL = 'acme/once';
const FIRST = { upstreamName: 'one', upstreamIndex: 0, label: 1 };
/** Longer than one poll interval of the waiting attempt. */
const LOOKED_MS = 2_500;

describe('the next attempt of a submit that may not be sent twice', () => {
  const model = definition({
    name: MODEL,
    routes: { default: { upstreams: [{ protocol: 'scripted', model: 'images', id: 'one' }] } },
  });
  let room: TaskRoom;
  let bench: GenerationBench;
  before(async () => {
    room = await openTaskRoom(undefined, { models: [model] });
    await createPinnedDefinitions(room.database).pin([model]);
    bench = openGenerationBench(room);
  });
  after(async () => {
    await bench.close();
    await room.close();
  });

  interface Retry {
    readonly task: WorkingTask;
    readonly intent: DeclaredIntent;
    readonly result: Promise<SubmitResult>;
    /** How often this attempt submitted. */
    sent(): number;
  }

  /** Starts the second attempt of a task whose first one has announced its submit. */
  async function retry(): Promise<Retry> {
    const { taskId } = await room.creator.create(await room.newCaller(), body({ model: MODEL }), undefined);
    const { task } = await beginHandling(room.database, taskId, 60);
    const intent = await declareIntent(room.database, taskId, FIRST);
    assert.ok(intent !== undefined);
    const provider = scriptedProvider({
      worksWhileSubmitting: true,
      submit: () => Promise.resolve({ kind: 'job', jobId: `job-${provider.sent()}` }),
    });
    const context = { ...bench.context, providers: new Map([['scripted', provider]]) };
    const attempt = newAttempt({ number: 2, earlierDetails: { upstreamIndex: 0, rejections: 0 } });
    const facts = { accountId: task.accountId, model: MODEL, handlingSeconds: 60, archivingSeconds: 60 };
    const result = submitGeneration(context, attempt, { taskId, isUpstream: true, ...facts });
    result.catch(() => undefined);
    await letPass(LOOKED_MS);
    return { task, intent, result, sent: provider.sent };
  }

  it('sends it when the first was rejected meanwhile', async () => {
    const { task, intent, result, sent } = await retry();
    assert.equal(sent(), 0);
    await withdrawIntent(room.database, task.id, FIRST, 'provider_unavailable', intent);

    assert.equal((await result).jobId, 'job-1');
    assert.equal(sent(), 1);
  });

  it('does not send it when the database has lost what the first had announced', async () => {
    const { task, result, sent } = await retry();
    await room.rows('DELETE FROM generations WHERE task_id = $1', task.id);

    await assert.rejects(
      result,
      (error) => error instanceof GenerationFailure && error.reason === 'outcome_unknown' && error.isPermanent,
    );
    assert.equal(sent(), 0);
    assert.equal((await readGeneration(room.database, task.id))?.state, 'intent');
  });

  it('gives the task up at the sixth rejection, long before its deadline', async () => {
    const { taskId } = await room.creator.create(await room.newCaller(), body({ model: MODEL }), undefined);
    await beginHandling(room.database, taskId, 600);
    const rejection = new ProviderRejection('provider_unavailable', { retryAfterMs: 1 });
    const provider = scriptedProvider({ submit: () => Promise.reject(rejection) });
    const context = { ...bench.context, providers: new Map([['scripted', provider]]) };
    const attempt = async (number: number): Promise<string> => {
      const result = submitGeneration(context, newAttempt({ number }), {
        taskId,
        isUpstream: true,
        handlingSeconds: 600,
      });
      return result.then(
        ({ kind }) => kind,
        (error: unknown) => String(error),
      );
    };

    for (let rejected = 0; rejected < 4; rejected += 1) {
      const intent = await declareIntent(room.database, taskId, FIRST);
      assert.ok(intent !== undefined);
      await withdrawIntent(room.database, taskId, FIRST, 'provider_unavailable', intent);
    }

    assert.match(await attempt(5), /passing: provider_unavailable/);
    assert.equal(provider.sent(), 1);
    assert.match(await attempt(6), /permanent: provider_unavailable/);
    assert.equal(provider.sent(), 2);
  });
});
