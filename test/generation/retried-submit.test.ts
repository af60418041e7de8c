/**
 * The next attempt of a submit that may not be sent twice: it waits for the previous one, and sends only what was not
 * sent.
 */
import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { after, before, describe, it } from 'node:test';
import { asyncLocalStorage } from '@temporalio/activity';
import type { Context } from '@temporalio/activity';
import { GenerationFailure } from '../../src/generation/failure.ts';
import type { ActivityContext } from '../../activities/context.ts';
import { createSubmitGeneration } from '../../src/generation/submit-generation.ts';
import { createPinnedDefinitions } from '../../src/catalogue/pinned-definitions.ts';
import type { Provider } from '../../src/providers/provider.ts';
import { declareIntent, withdrawIntent } from '../../src/tasks/lifecycle/intents.ts';
import { beginHandling, readGeneration } from '../../src/tasks/lifecycle/transitions.ts';
import type { DeclaredIntent } from '../../src/tasks/lifecycle/intents.ts';
import type { WorkingTask } from '../../src/tasks/lifecycle/transitions.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import type { SubmitResult } from '../../workflows/contracts.ts';
import { definition } from '../catalogue/definitions.ts';
import { letPass } from '../support/let-pass.ts';
import { body, openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';

const MODEL = 'acme/once';
const PLACE = { upstreamName: 'one', place: 0, label: 1 };
/** Longer than one poll interval of the waiting attempt. */
const LOOKED_MS = 2_500;

describe('the next attempt of a submit that may not be sent twice', () => {
  const model = definition({
    name: MODEL,
    routes: { default: { upstreams: [{ protocol: 'scripted', model: 'pictures', id: 'one' }] } },
  });
  let room: TaskRoom;
  before(async () => {
    room = await openTaskRoom(undefined, { models: [model] });
    await createPinnedDefinitions(room.database).pin([model]);
  });
  after(() => room.close());

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
    const intent = await declareIntent(room.database, taskId, PLACE);
    assert.ok(intent !== undefined);
    let sent = 0;
    const provider = {
      isSubmitRepeatable: false,
      worksWhileSubmitting: true,
      submit() {
        sent += 1;
        return Promise.resolve({ kind: 'job', jobId: `job-${sent}` });
      },
    } as unknown as Provider;
    const { signal } = new AbortController();
    const context = {
      config: { worker: { scratchDir: tmpdir(), upstreamGraceMs: 600_000 } },
      database: room.database,
      definitions: createPinnedDefinitions(room.database),
      providers: new Map([['scripted', provider]]),
      logger: silentLogger(),
      metrics: { outgoing: { upstreamAsked: () => undefined } },
      urlSigner: room.creatorDependencies.urlSigner,
      upstreams: {
        gate: {
          enter: () => Promise.resolve({ kind: 'open' }),
          leave: () => Promise.resolve(),
          report: () => Promise.resolve(),
        },
      },
      stopping: signal,
      ending: signal,
      recordHeartbeat: () => Promise.resolve(true),
    } as unknown as ActivityContext;
    const attempt = {
      info: { taskToken: new Uint8Array([1]), attempt: 2, heartbeatDetails: { place: 0, refusals: 0 } },
      cancellationSignal: signal,
      heartbeat: () => undefined,
    } as unknown as Context;
    const facts = { accountId: task.accountId, model: MODEL, handlingSeconds: 60, archivingSeconds: 60 };
    const result = asyncLocalStorage.run(attempt, () =>
      createSubmitGeneration(context)({ taskId, isUpstream: true, ...facts }),
    );
    result.catch(() => undefined);
    await letPass(LOOKED_MS);
    return { task, intent, result, sent: () => sent };
  }

  it('sends it where the first was refused meanwhile', async () => {
    const { task, intent, result, sent } = await retry();
    assert.equal(sent(), 0);
    await withdrawIntent(room.database, task.id, PLACE, 'provider_unavailable', intent);

    assert.equal((await result).jobId, 'job-1');
    assert.equal(sent(), 1);
  });

  it('does not send it where the database has lost what the first had announced', async () => {
    const { task, result, sent } = await retry();
    await room.rows('DELETE FROM generations WHERE task_id = $1', task.id);

    await assert.rejects(
      result,
      (error) => error instanceof GenerationFailure && error.reason === 'outcome_unknown' && error.isPermanent,
    );
    assert.equal(sent(), 0);
    assert.equal((await readGeneration(room.database, task.id))?.state, 'intent');
  });
});
