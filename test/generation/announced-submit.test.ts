/**
 * A submit that may not be sent twice is announced to Temporal before it is sent, so that the next attempt knows
 * about it whatever happens to this worker and to the database's last commits (docs/decisions/0037).
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { asyncLocalStorage } from '@temporalio/activity';
import type { Context } from '@temporalio/activity';
import { GenerationFailure } from '../../src/generation/failure.ts';
import { heartbeating } from '../../activities/heartbeat.ts';
import { intentOfEarlierAttempt } from '../../src/generation/earlier-work.ts';
import { submitTo } from '../../src/generation/submit-to-upstream.ts';
import type { ActivityContext } from '../../activities/context.ts';
import type { SubmitAttempt } from '../../src/generation/submit-with-fallback.ts';
import type { TaskRoute } from '../../src/generation/task-route.ts';
import { DatabaseUnavailableError } from '../../src/database/database.ts';
import type { Database, Statement } from '../../src/database/database.ts';
import { ProviderRefusal } from '../../src/providers/provider.ts';
import type { Submission } from '../../src/providers/provider.ts';
import { clearIntent, declareIntent, withdrawIntent } from '../../src/tasks/lifecycle/intents.ts';
import { beginHandling, countRefusals, readGeneration } from '../../src/tasks/lifecycle/transitions.ts';
import type { WorkingTask } from '../../src/tasks/lifecycle/transitions.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { definition } from '../catalogue/definitions.ts';
import { body, openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';

const JOB: Submission = { kind: 'job', jobId: 'job-1' };
/** The statements that record an intent, or take one over. */
const LOSABLE: readonly string[] = ['insert_generation_intent', 'take_on_generation_intent'];

/** Runs a function as one attempt of an activity. @param beats the details of its heartbeats. */
function inAttempt<T>(
  work: () => Promise<T>,
  beats: unknown[] = [],
  heartbeatDetails?: unknown,
  number = 1,
): Promise<T> {
  const attempt = {
    info: { taskToken: new Uint8Array([1]), isLocal: false, heartbeatDetails, attempt: number },
    cancellationSignal: new AbortController().signal,
    heartbeat: (details: unknown) => beats.push(details),
  } as unknown as Context;
  return asyncLocalStorage.run(attempt, work);
}

async function begin(room: TaskRoom): Promise<WorkingTask> {
  const { taskId } = await room.creator.create(await room.newCaller(), body(), undefined);
  return (await beginHandling(room.database, taskId, 60)).task;
}

/** Submits a task to the only upstream. */
function submitOf(roomOf: () => TaskRoom) {
  return function submit(
    task: WorkingTask,
    recordHeartbeat: ActivityContext['recordHeartbeat'],
    ask: () => Promise<Submission>,
    { database = roomOf().database, place = 0 }: { readonly database?: Database; readonly place?: number } = {},
  ): ReturnType<typeof submitTo> {
    const { signal } = new AbortController();
    const route = {
      upstreamName: 'one',
      place,
      label: 1,
      definition: definition(),
      gated: undefined,
      provider: { isSubmitRepeatable: false, worksWhileSubmitting: false, submit: ask },
      request: { taskId: task.id, upstream: { protocol: 'scripted', model: 'pictures' }, input: task.input },
    } as unknown as TaskRoute;
    const attempt = {
      context: {
        database,
        logger: silentLogger(),
        metrics: { outgoing: { upstreamAsked: () => undefined } },
        upstreams: { gate: {} },
        recordHeartbeat,
      },
      task,
      routes: [route],
      triedPlace: undefined,
      stopSignal: signal,
      stopSignals: { requested: signal, deadline: signal },
      hasPlace: true,
      scratch: '',
      onProgress: () => undefined,
    } as unknown as SubmitAttempt;
    return submitTo(attempt, route);
  };
}

describe('a submit that is announced', () => {
  let room: TaskRoom;
  before(async () => {
    room = await openTaskRoom();
  });
  after(() => room.close());

  const submit = submitOf(() => room);

  it('is known to Temporal before it is sent', async () => {
    const task = await begin(room);
    const order: unknown[] = [];
    const recordHeartbeat = (_token: Uint8Array, details: object): Promise<boolean> => {
      order.push(details);
      return Promise.resolve(true);
    };

    await inAttempt(() =>
      submit(task, recordHeartbeat, () => {
        order.push('sent');
        return Promise.resolve(JOB);
      }),
    );

    assert.deepEqual(order, [{ place: 0, refusals: 0 }, 'sent']);
  });

  it('is not sent where Temporal does not answer, and leaves nothing that says that it was', async () => {
    const task = await begin(room);
    const beats: unknown[] = [];
    let isSent = false;

    const failure = await inAttempt(
      () =>
        submit(
          task,
          () => Promise.reject(new Error('Temporal is away')),
          () => {
            isSent = true;
            return Promise.resolve(JOB);
          },
        ),
      beats,
    ).catch((error: unknown) => error);

    assert.ok(failure instanceof GenerationFailure && !failure.isPermanent, String(failure));
    assert.equal(isSent, false);
    assert.equal(await readGeneration(room.database, task.id), undefined);
    assert.deepEqual(beats.at(-1), {});
  });

  it('is not sent by an attempt that is over, and leaves nothing that says that it was', async () => {
    const task = await begin(room);
    let isSent = false;

    const over = inAttempt(() =>
      submit(
        task,
        () => Promise.resolve(false),
        () => {
          isSent = true;
          return Promise.resolve(JOB);
        },
      ),
    );

    await assert.rejects(over, GenerationFailure);
    assert.equal(isSent, false);
    assert.equal(await readGeneration(room.database, task.id), undefined);
  });

  it('leaves the intent that another attempt has declared since', async () => {
    const task = await begin(room);
    const place = { upstreamName: 'one', place: 0, label: 1 };
    const first = await declareIntent(room.database, task.id, place);
    assert.ok(first !== undefined);
    await clearIntent(room.database, task.id, first);
    await declareIntent(room.database, task.id, place);

    await clearIntent(room.database, task.id, first);
    await withdrawIntent(room.database, task.id, place, 'provider_unavailable', first);

    assert.equal((await readGeneration(room.database, task.id))?.state, 'intent');
    assert.equal(await countRefusals(room.database, task.id), 0);
  });

  it('may be sent again after a refusal, also where the next attempt has not heard of that', async () => {
    const task = await begin(room);
    const announced: object[] = [];
    const recordHeartbeat = (_token: Uint8Array, details: object): Promise<boolean> => {
      announced.push(details);
      return Promise.resolve(true);
    };

    const refused = await inAttempt(() =>
      submit(task, recordHeartbeat, () => Promise.reject(new ProviderRefusal('provider_unavailable'))),
    );
    const context = { database: room.database } as unknown as ActivityContext;
    const lost = await inAttempt(() => intentOfEarlierAttempt(context, task), [], announced[0]);

    assert.equal('kind' in refused && refused.kind, 'refused');
    assert.deepEqual([await readGeneration(room.database, task.id), lost], [undefined, undefined]);
    assert.equal(await countRefusals(room.database, task.id), 1);
  });
});

describe('an intent of which the answer is lost', () => {
  let room: TaskRoom;
  before(async () => {
    room = await openTaskRoom();
  });
  after(() => room.close());
  const submit = submitOf(() => room);
  const taken = (): Promise<boolean> => Promise.resolve(true);

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
    const beats: unknown[] = [];
    const lost = inAttempt(
      () => submit(task, taken, () => assert.fail('nothing is to be sent'), { database }),
      beats,
      details,
      number,
    );
    await assert.rejects(lost, DatabaseUnavailableError);
    assert.equal((await readGeneration(room.database, task.id))?.state, 'intent');
    return beats.at(-1);
  }

  /** The next attempt. @returns how often it submitted. */
  async function submits(task: WorkingTask, details: unknown, number: number, place = 0): Promise<number> {
    let sent = 0;
    const ask = (): Promise<Submission> => {
      sent += 1;
      return Promise.resolve(JOB);
    };
    await inAttempt(() => submit(task, taken, ask, { place }), [], details, number).catch((error: unknown) => {
      // The attempt after it waits for the holder of the intent (live-submit.ts).
      assert.ok(error instanceof GenerationFailure && error.reason === 'provider_unavailable', String(error));
    });
    return sent;
  }

  it('is sent by the next attempt, which knows that this one did not', async () => {
    const task = await begin(room);
    const details = await loseAnswer(task);

    assert.equal(await submits(task, details, 2), 1);
    assert.deepEqual(await readGeneration(room.database, task.id), {
      state: 'submitted',
      jobId: 'job-1',
      place: 0,
      files: null,
    });
  });

  it('is sent by the next attempt but one, where the next lost an answer as well', async () => {
    const task = await begin(room);
    const details = await loseAnswer(task, await loseAnswer(task), 2);

    assert.equal(await submits(task, details, 3), 1);
  });

  it('is not sent where the attempt right before said nothing of it, or an older one did', async () => {
    const task = await begin(room);
    const details = await loseAnswer(task);

    for (const [said, number] of [
      [details, 3],
      [details, 1],
      [undefined, 2],
      [{}, 2],
      [{ place: 0, refusals: 0 }, 2],
    ] as const) {
      assert.equal(await submits(task, said, number), 0, JSON.stringify([said, number]));
    }
  });

  it('is sent by the next attempt to another upstream, where that is the one to ask now', async () => {
    const task = await begin(room);
    const details = await loseAnswer(task);

    assert.equal(await submits(task, details, 2, 1), 1);
    assert.deepEqual(await readGeneration(room.database, task.id), {
      state: 'submitted',
      jobId: 'job-1',
      place: 1,
      files: null,
    });
  });

  it('is sent again where the upstream refused it, and the database did not record that', async () => {
    const task = await begin(room);
    const database: Database = {
      ...room.database,
      transaction: () => Promise.reject(new Error('the database has lost the transaction')),
    };
    const beats: unknown[] = [];
    const refuse = (): Promise<never> => Promise.reject(new ProviderRefusal('provider_unavailable'));

    await assert.rejects(
      inAttempt(() => submit(task, taken, refuse, { database }), beats),
      /has lost the transaction/,
    );

    assert.equal((await readGeneration(room.database, task.id))?.state, 'intent');
    assert.equal(await submits(task, beats.at(-1), 2), 1);
  });

  it('is gone where the next attempt cannot announce it, and can be sent by the one after it', async () => {
    const task = await begin(room);
    const details = await loseAnswer(task);
    const beats: unknown[] = [];
    const away = (): Promise<boolean> => Promise.reject(new Error('Temporal is away'));

    const unannounced = inAttempt(
      () => submit(task, away, () => assert.fail('nothing is to be sent')),
      beats,
      details,
      2,
    );

    await assert.rejects(unannounced, GenerationFailure);
    assert.equal(await readGeneration(room.database, task.id), undefined);
    assert.equal(await submits(task, beats.at(-1), 3), 1);
  });
});

describe('what an attempt attached to its heartbeats', () => {
  it('is not erased by the heartbeats of the next one', async () => {
    const beats: unknown[] = [];
    const details = { place: 1, refusals: 2 };

    await inAttempt(() => heartbeating(() => Promise.resolve()), beats, details);

    assert.deepEqual(beats, [details]);
  });

  it('is said again by an attempt that came to nothing, where it says that nothing was sent', async () => {
    const beats: unknown[] = [];
    const fail = (): Promise<never> => Promise.reject(new DatabaseUnavailableError('it is still away'));

    await assert.rejects(
      inAttempt(() => heartbeating(fail), beats, { unsentBy: 1 }, 2),
      DatabaseUnavailableError,
    );
    await assert.rejects(
      inAttempt(() => heartbeating(fail), beats, { unsentBy: 1 }, 3),
      DatabaseUnavailableError,
    );

    assert.deepEqual(beats, [undefined, { unsentBy: 2 }, undefined]);
  });

  it('is erased where it is for the next attempt alone', async () => {
    const beats: unknown[] = [];

    await inAttempt(() => heartbeating(() => Promise.resolve()), beats, { unsentBy: 1 }, 2);

    assert.deepEqual(beats, [undefined]);
  });
});
