/**
 * A submit that may not be sent twice is announced to Temporal before it is sent, so that the next attempt knows
 * about it whatever happens to this worker and to the database's last commits (docs/decisions/0005). One that can be
 * repeated is not, and its upstream may bill it all the same: the operator's costs include it
 * (src/billing/operator-costs.ts).
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { DatabaseUnavailableError } from '../../src/database/database.ts';
import type { Database, Statement } from '../../src/database/database.ts';
import type { Attempt, SubmitAttempt } from '../../src/generation/attempt.ts';
import { intentOfEarlierAttempt } from '../../src/generation/earlier-work.ts';
import { GenerationFailure } from '../../src/generation/failure.ts';
import { submitToUpstream } from '../../src/generation/submit-to-upstream.ts';
import type { TaskRoute } from '../../src/generation/task-route.ts';
import { ProviderFailure, ProviderRejection, ProviderUnknown } from '../../src/providers/provider.ts';
import type { Provider, Submission } from '../../src/providers/provider.ts';
import { clearIntent, declareIntent, withdrawIntent } from '../../src/tasks/lifecycle/intents.ts';
import { beginHandling } from '../../src/tasks/lifecycle/transitions.ts';
import { countRejections, readGeneration } from '../../src/tasks/lifecycle/generations.ts';
import type { Generation } from '../../src/tasks/lifecycle/generations.ts';
import type { WorkingTask } from '../../src/tasks/lifecycle/transitions.ts';
import { definition } from '../catalogue/definitions.ts';
import { body, openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';
import { newAttempt } from './attempts.ts';
import { openGenerationBench } from './contexts.ts';
import type { GenerationBench } from './contexts.ts';
import { scriptedProvider } from './scripted-provider.ts';

const away = (): Promise<boolean> => Promise.reject(new Error('Temporal is away'));
const JOB: Submission = { kind: 'job', jobId: 'job-1' };
/** The statements that record an intent, or take one over. */
const LOSABLE: readonly string[] = ['insert_generation_intent', 'take_on_generation_intent'];

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

async function begin(): Promise<WorkingTask> {
  const { taskId } = await room.creator.create(await room.newCaller(), body(), undefined);
  return (await beginHandling(room.database, taskId, 60)).task;
}

/** Submits a task to the only upstream, as one attempt. */
function submit(
  task: WorkingTask,
  attempt: Attempt,
  ask: () => Promise<Submission>,
  {
    database = bench.context.database,
    upstreamIndex = 0,
    gated,
    provider = {},
    signal = new AbortController().signal,
  }: {
    readonly database?: Database;
    readonly upstreamIndex?: number;
    readonly gated?: TaskRoute['gated'];
    readonly provider?: Partial<Provider>;
    readonly signal?: AbortSignal;
  } = {},
): ReturnType<typeof submitToUpstream> {
  const route: TaskRoute = {
    upstreamName: 'one',
    upstreamIndex,
    label: 1,
    definition: definition(),
    gated,
    balance: 'ordered',
    weight: 1,
    pool: undefined,
    provider: scriptedProvider({ ...provider, submit: ask }),
    request: { taskId: task.id, upstream: { protocol: 'scripted', model: 'images' }, input: task.input },
  };
  const submitAttempt: SubmitAttempt = {
    ...attempt,
    context: { ...bench.context, database },
    task,
    routes: [route],
    triedIndex: undefined,
    failedIndices: new Set(),
    stopSignal: signal,
    stopSignals: { requested: signal, deadline: signal },
    hasSlot: true,
    scratch: '',
    onProgress: () => undefined,
  };
  return submitToUpstream(submitAttempt, route);
}

describe('a submit that is announced', () => {
  it('is recorded as an intent, announced, and only then sent, and its job is recorded last', async () => {
    const task = await begin();
    const order: unknown[] = [];
    const note = async (step: unknown): Promise<void> => {
      order.push([step, (await readGeneration(room.database, task.id))?.state]);
    };
    const attempt = newAttempt({
      async recordHeartbeat(details) {
        await note(details);
        return true;
      },
    });

    await note('before');
    await submit(task, attempt, async () => {
      await note('sent');
      return JOB;
    });
    await note('after');

    assert.deepEqual(order, [
      ['before', undefined],
      [{ upstreamIndex: 0, rejections: 0 }, 'intent'],
      ['sent', 'intent'],
      ['after', 'submitted'],
    ]);
    assert.deepEqual(attempt.beats, [{ upstreamIndex: 0, rejections: 0 }]);
  });

  it('is not sent when Temporal does not respond, and leaves no record of having been sent', async () => {
    const task = await begin();
    const attempt = newAttempt({ recordHeartbeat: away });
    let isSent = false;

    const failure = await submit(task, attempt, () => {
      isSent = true;
      return Promise.resolve(JOB);
    }).catch((error: unknown) => error);

    assert.ok(failure instanceof GenerationFailure && !failure.isPermanent, String(failure));
    assert.equal(isSent, false);
    assert.equal(await readGeneration(room.database, task.id), undefined);
    assert.deepEqual(attempt.beats.at(-1), {});
  });

  it('is not sent by an attempt that has ended, and leaves no record of having been sent', async () => {
    const task = await begin();
    let isSent = false;

    const over = submit(task, newAttempt({ recordHeartbeat: () => Promise.resolve(false) }), () => {
      isSent = true;
      return Promise.resolve(JOB);
    });

    await assert.rejects(over, GenerationFailure);
    assert.equal(isSent, false);
    assert.equal(await readGeneration(room.database, task.id), undefined);
  });

  it('preserves the intent that another attempt has declared since', async () => {
    const task = await begin();
    const position = { upstreamName: 'one', upstreamIndex: 0, label: 1 };
    const first = await declareIntent(room.database, task.id, position);
    assert.ok(first !== undefined);
    await clearIntent(room.database, task.id, first);
    await declareIntent(room.database, task.id, position);

    await clearIntent(room.database, task.id, first);
    await withdrawIntent(room.database, task.id, position, 'provider_unavailable', first);

    assert.equal((await readGeneration(room.database, task.id))?.state, 'intent');
    assert.equal(await countRejections(room.database, task.id), 0);
  });

  it('may be sent again after a rejection, even when the next attempt does not know of it', async () => {
    const task = await begin();
    const announced: object[] = [];
    const attempt = newAttempt({
      recordHeartbeat(details) {
        announced.push(details);
        return Promise.resolve(true);
      },
    });

    const rejected = await submit(task, attempt, () => Promise.reject(new ProviderRejection('provider_unavailable')));
    const lost = await intentOfEarlierAttempt(bench.context, { earlierDetails: announced[0] }, task);

    assert.equal('kind' in rejected && rejected.kind, 'rejected');
    assert.deepEqual([await readGeneration(room.database, task.id), lost], [undefined, undefined]);
    assert.equal(await countRejections(room.database, task.id), 1);
  });
});

describe('an intent whose response is lost', () => {
  /** The heartbeat details at the end of an attempt that did not learn that its intent was recorded. */
  async function loseAnswer(task: WorkingTask, details?: unknown, number = 1): Promise<unknown> {
    const database: Database = {
      ...room.database,
      async query<Row>(statement: Statement, values?: readonly unknown[]): Promise<readonly Row[]> {
        const rows = await room.database.query<Row>(statement, values);
        if (LOSABLE.includes(statement.name)) throw new DatabaseUnavailableError('the answer is lost');
        return rows;
      },
    };
    const attempt = newAttempt({ number, earlierDetails: details });
    const lost = submit(task, attempt, () => assert.fail('nothing is to be sent'), { database });
    await assert.rejects(lost, DatabaseUnavailableError);
    assert.equal((await readGeneration(room.database, task.id))?.state, 'intent');
    return attempt.beats.at(-1);
  }

  /** The next attempt. @returns how often it submitted. */
  async function submits(task: WorkingTask, details: unknown, number: number, upstreamIndex = 0): Promise<number> {
    let sent = 0;
    const ask = (): Promise<Submission> => {
      sent += 1;
      return Promise.resolve(JOB);
    };
    const attempt = newAttempt({ number, earlierDetails: details });
    await submit(task, attempt, ask, { upstreamIndex }).catch((error: unknown) => {
      // The attempt after it waits for the holder of the intent (live-submit.ts).
      assert.ok(error instanceof GenerationFailure && error.reason === 'provider_unavailable', String(error));
    });
    return sent;
  }

  it('is sent by the next attempt, which knows that this one did not send it', async () => {
    const task = await begin();
    const details = await loseAnswer(task);

    assert.equal(await submits(task, details, 2), 1);
    assert.deepEqual(await readGeneration(room.database, task.id), {
      state: 'submitted',
      jobId: 'job-1',
      upstreamIndex: 0,
      files: null,
    });
  });

  it('is sent by the attempt after the next, when the next lost a response as well', async () => {
    const task = await begin();
    const details = await loseAnswer(task, await loseAnswer(task), 2);

    assert.equal(await submits(task, details, 3), 1);
  });

  it('is not sent when the previous attempt did not report it, or an older one did', async () => {
    const task = await begin();
    const details = await loseAnswer(task);

    for (const [said, number] of [
      [details, 3],
      [details, 1],
      [undefined, 2],
      [{}, 2],
      [{ upstreamIndex: 0, rejections: 0 }, 2],
    ] as const) {
      assert.equal(await submits(task, said, number), 0, JSON.stringify([said, number]));
    }
  });

  it('is sent by the next attempt to another upstream, when that is now the one to use', async () => {
    const task = await begin();
    const details = await loseAnswer(task);

    assert.equal(await submits(task, details, 2, 1), 1);
    assert.deepEqual(await readGeneration(room.database, task.id), {
      state: 'submitted',
      jobId: 'job-1',
      upstreamIndex: 1,
      files: null,
    });
  });

  it('is sent again when the upstream rejected it and the database did not record that', async () => {
    const task = await begin();
    const database: Database = {
      ...room.database,
      transaction: () => Promise.reject(new Error('the database has lost the transaction')),
    };
    const attempt = newAttempt();
    const rejectSubmit = (): Promise<never> => Promise.reject(new ProviderRejection('provider_unavailable'));

    await assert.rejects(submit(task, attempt, rejectSubmit, { database }), /has lost the transaction/);

    assert.equal((await readGeneration(room.database, task.id))?.state, 'intent');
    assert.equal(await submits(task, attempt.beats.at(-1), 2), 1);
  });

  it('is removed when the next attempt cannot announce it, and can be sent by the one after it', async () => {
    const task = await begin();
    const details = await loseAnswer(task);
    const attempt = newAttempt({ number: 2, earlierDetails: details, recordHeartbeat: away });

    const unannounced = submit(task, attempt, () => assert.fail('nothing is to be sent'));

    await assert.rejects(unannounced, GenerationFailure);
    assert.equal(await readGeneration(room.database, task.id), undefined);
    assert.equal(await submits(task, attempt.beats.at(-1), 3), 1);
  });
});

describe('the cost of a submit that is repeatable and was not announced', () => {
  /** @returns what is recorded after the submit to the only upstream. */
  async function submitted(
    ask: (cancel: AbortController) => Promise<Submission>,
    isOurs = false,
  ): Promise<Generation | undefined> {
    const task = await begin();
    const cancel = new AbortController();
    await submit(task, newAttempt(), () => ask(cancel), {
      gated: isOurs ? undefined : { name: 'one' },
      provider: { isSubmitRepeatable: true, worksWhileSubmitting: true },
      signal: cancel.signal,
    }).catch(() => undefined);
    return readGeneration(room.database, task.id);
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
