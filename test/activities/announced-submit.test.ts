/**
 * A submit that may not be sent twice is announced to Temporal before it is sent, so that the next attempt knows of it
 * whatever becomes of this worker, and of the database's last commits (docs/0037).
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { asyncLocalStorage } from '@temporalio/activity';
import type { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { heartbeating } from '../../activities/heartbeat.ts';
import { intentOfEarlierAttempt } from '../../activities/earlier-work.ts';
import { submitTo } from '../../activities/submit-to.ts';
import type { ActivityContext } from '../../activities/context.ts';
import type { SubmitAttempt } from '../../activities/ask-upstreams.ts';
import type { TaskRoute } from '../../activities/task-route.ts';
import { ProviderRefusal } from '../../src/providers/provider.ts';
import type { Submission } from '../../src/providers/provider.ts';
import { beginHandling, countRefusals, readGeneration } from '../../src/tasks/work.ts';
import type { WorkingTask } from '../../src/tasks/work.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { definition } from '../catalogue/definitions.ts';
import { body, openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';

const JOB: Submission = { kind: 'job', jobId: 'job-1' };

/** Runs something as one attempt of an activity. @param beats what its heartbeats say. */
function inAttempt<T>(work: () => Promise<T>, beats: unknown[] = [], heartbeatDetails?: object): Promise<T> {
  const attempt = {
    info: { taskToken: new Uint8Array([1]), isLocal: false, heartbeatDetails },
    heartbeat: (details: unknown) => beats.push(details),
  } as unknown as Context;
  return asyncLocalStorage.run(attempt, work);
}

describe('a submit that is announced', () => {
  let room: TaskRoom;
  before(async () => {
    room = await openTaskRoom();
  });
  after(() => room.close());

  const begin = async (): Promise<WorkingTask> => {
    const { taskId } = await room.creator.create(await room.newCaller(), body(), undefined);
    return (await beginHandling(room.database, taskId, 60)).task;
  };

  /** Submits a task to the only upstream there is. */
  function submit(
    task: WorkingTask,
    recordHeartbeat: ActivityContext['recordHeartbeat'],
    ask: () => Promise<Submission>,
  ): ReturnType<typeof submitTo> {
    const { signal } = new AbortController();
    const route = {
      upstreamName: 'one',
      place: 0,
      label: 1,
      definition: definition(),
      gated: undefined,
      provider: { isSubmitRepeatable: false, worksWhileSubmitting: false, submit: ask },
      request: { taskId: task.id, upstream: { protocol: 'scripted', model: 'pictures' }, input: task.input },
    } as unknown as TaskRoute;
    const attempt = {
      context: {
        database: room.database,
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
  }

  it('is known to Temporal before it is sent', async () => {
    const task = await begin();
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
    const task = await begin();
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

    assert.ok(failure instanceof ApplicationFailure && failure.nonRetryable === false, String(failure));
    assert.equal(isSent, false);
    assert.equal(await readGeneration(room.database, task.id), undefined);
    assert.deepEqual(beats.at(-1), {});
  });

  it('is not sent by an attempt that is over', async () => {
    const task = await begin();
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

    await assert.rejects(over, ApplicationFailure);
    assert.equal(isSent, false);
    assert.equal((await readGeneration(room.database, task.id))?.state, 'intent');
  });

  it('may be sent again after a refusal, also where the next attempt has not heard of that', async () => {
    const task = await begin();
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

describe('what an attempt attached to its heartbeats', () => {
  it('is not erased by the heartbeats of the next one', async () => {
    const beats: unknown[] = [];
    const details = { place: 1, refusals: 2 };

    await inAttempt(() => heartbeating(() => Promise.resolve()), beats, details);

    assert.deepEqual(beats, [details]);
  });
});
