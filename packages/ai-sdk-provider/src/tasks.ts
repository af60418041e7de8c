/** Tasks of models that the AI SDK has other words for: their input, made from its options, and their outputs. */
import type { Darkroom, ModelDetail, Output, Task } from '@darkroom/sdk';
import { TaskInput } from './task-input.ts';

export interface RunOutput {
  readonly task: Task;
  readonly outputs: readonly Output[];
}

export class Tasks {
  readonly client: Darkroom;
  readonly #models = new Map<string, Promise<ModelDetail>>();

  constructor(client: Darkroom) {
    this.client = client;
  }

  /** Reads a model once. @throws {ApiError} there is none of that name, or the key may not use it. */
  async model(modelId: string): Promise<ModelDetail> {
    const known = this.#models.get(modelId);
    if (known !== undefined) return known;
    const reading = this.client.models.get(modelId);
    this.#models.set(modelId, reading);
    // A failure is not kept.
    reading.catch(() => this.#models.delete(modelId));
    return reading;
  }

  /** An empty input of a model, to which options are added. */
  async newInput(modelId: string): Promise<TaskInput> {
    const { input_schema: schema } = await this.model(modelId);
    return new TaskInput(this.client, schema);
  }

  /** Runs a task to its end. A call that is aborted cancels it. @throws {TaskFailedError} it failed. */
  async run(modelId: string, input: TaskInput['values'], signal: AbortSignal | undefined): Promise<RunOutput> {
    let task: Task | undefined;
    const outputs = await this.client.run(modelId, input, {
      signal,
      cancelOnAbort: true,
      onUpdate(current) {
        task = current;
      },
    });
    if (task === undefined) throw new Error('a task ended without being read');
    return { task, outputs };
  }
}

/** What `providerMetadata` says about a task. */
export function factsOf(task: Task): { readonly taskId: string; readonly costUsd: string } {
  return { taskId: task.taskId, costUsd: task.billing.captured };
}

/** What it says about an output. */
export function outputFacts({ id, url, mimeType, width, height, durationSeconds }: Output) {
  return {
    id,
    url,
    mimeType,
    ...(width === undefined ? {} : { width }),
    ...(height === undefined ? {} : { height }),
    ...(durationSeconds === undefined ? {} : { durationSeconds }),
  };
}
