/**
 * The work of an installation around the moments of its backups. Every phase ends with a backup; in each there are
 * tasks that end within it, tasks that end in the next one, tasks that wait at their provider until everything is
 * restored, callbacks that fail at first, a text call and an upload; in the first also a batch.
 */
import assert from 'node:assert/strict';
import { waitFor } from '@darkroom/testing/wait-for';
import { BatchClient, lineOf } from '../e2e/batch-client.ts';
import type { DarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { TestAccount } from '../support/darkroom.ts';

export const LAST_PHASE = 4;

/** A create request with its key, which a careful client repeats. */
export interface SentTask {
  readonly taskId: string;
  readonly key: string;
  readonly body: { readonly model: string; readonly input: { readonly prompt: string }; readonly callback: object };
  /** Contained in the prompt, and so in the provider's log. */
  readonly marker: string;
  /** In which it was created. */
  readonly phase: number;
  /** In which its provider finished; one after the last: when everything is restored. */
  readonly finishedIn: number;
}

export interface Work {
  readonly account: TestAccount;
  readonly tasks: SentTask[];
  /** With the phases in which they were made. */
  readonly responses: { readonly id: string; readonly phase: number }[];
  readonly uploads: { readonly id: string; readonly phase: number }[];
  batchId: string;
}

/** How many lines the batch has. */
export const BATCH_LINES = 3;

export class RestoreWork {
  readonly #outside: DarkroomWithUpstreams;
  /** Of the whole run, in prompts and keys. */
  readonly #round: string;
  readonly work: Work;

  constructor(outside: DarkroomWithUpstreams, round: string, account: TestAccount) {
    this.#outside = outside;
    this.#round = round;
    this.work = { account, tasks: [], responses: [], uploads: [], batchId: '' };
  }

  /** The work of one phase, up to the moment at which it is quiet but for what waits. */
  async run(phase: number): Promise<void> {
    if (phase === 1) await this.#beginBatch();
    const done = await this.#send('done', phase, phase, '', '/ok');
    const calling = await this.#send('calling', phase, phase, '', `/fail/2/${this.#round}-${phase}`);
    if (phase < LAST_PHASE) {
      const crossing = await this.#send('crossing', phase, phase + 1, '[hold]', '/ok');
      const held = await this.#send('held', phase, LAST_PHASE + 1, '[hold]', '/ok');
      for (const { marker } of [crossing, held]) await this.#outside.waitForProvider(marker, 'poll');
    }
    await this.#answerText(phase);
    await this.#upload(phase);
    const ending = this.work.tasks.filter(({ finishedIn }) => finishedIn === phase);
    for (const { marker } of ending) await this.#outside.provider.release(marker);
    for (const { taskId } of ending) {
      const { status } = await this.work.account.client.waitForTerminal(taskId);
      assert.equal(status, 'success');
    }
    for (const task of ending) if (task !== calling) await this.#outside.waitForCalledBack(task.taskId);
    assert.ok(ending.includes(done));
  }

  /** Lets the provider finish everything, also what is created again later. */
  async release(): Promise<void> {
    await this.#outside.provider.release(`marker-${this.#round}-`);
  }

  /** Sends the request of a task again, as its client does who gets 404 for it. */
  async repeat({ body, key, taskId }: SentTask): Promise<void> {
    const { status, headers, body: answer } = await this.work.account.client.create(body, key);
    assert.equal(status, 200, JSON.stringify(answer));
    assert.deepEqual([answer.data.taskId, headers.get('Idempotent-Replay')], [taskId, null]);
  }

  async #send(
    kind: string,
    phase: number,
    finishedIn: number,
    behaviour: string,
    callbackPath: string,
  ): Promise<SentTask> {
    const marker = `marker-${this.#round}-${kind}-${phase}-`;
    const body = {
      model: 'test/replicate',
      input: { prompt: `${marker} a harbour ${behaviour}` },
      callback: { url: `${this.#outside.receiver.url}${callbackPath}` },
    };
    const { status, body: answer } = await this.work.account.client.create(body, marker);
    assert.equal(status, 200, JSON.stringify(answer));
    const task = { taskId: answer.data.taskId, key: marker, body, marker, phase, finishedIn };
    this.work.tasks.push(task);
    return task;
  }

  async #answerText(phase: number): Promise<void> {
    const body = { model: 'darkroom/conformance-text', input: 'What is 17 * 3?' };
    const { status, body: answer } = await this.work.account.client.send('POST', '/v1/responses', body);
    assert.equal(status, 200, JSON.stringify(answer));
    this.work.responses.push({ id: (answer as unknown as { id: string }).id, phase });
  }

  async #upload(phase: number): Promise<void> {
    const content = new Blob([`{"phase":${phase}}\n`]);
    const id = await this.#batches().uploadFile('user_data', content, `phase-${phase}.json`);
    this.work.uploads.push({ id, phase });
  }

  async #beginBatch(): Promise<void> {
    const lines = Array.from({ length: BATCH_LINES }, (_, index) =>
      lineOf('/v1/tasks', `line-${index}`, {
        model: 'test/replicate',
        input: { prompt: `marker-${this.#round}-batch-1-${index} [hold]` },
      }),
    );
    const { id } = await this.#batches().create('/v1/tasks', lines);
    this.work.batchId = id;
    await waitFor('the provider has all lines of the batch', async () => {
      const log = await this.#outside.providerLog(`marker-${this.#round}-batch-1-`);
      return log.filter(({ kind }) => kind === 'submit').length === BATCH_LINES;
    });
  }

  #batches(): BatchClient {
    return new BatchClient(this.#outside.darkroom.url, this.work.account);
  }
}
