/** Videos: a task that is started, and whose status is asked for or reported by a callback. */
import type {
  Experimental_VideoModelV4 as VideoModelV4,
  Experimental_VideoModelV4CallOptions as VideoModelV4CallOptions,
  JSONValue,
} from '@ai-sdk/provider';
import { InvalidArgumentError } from '@ai-sdk/provider';
import type { Task } from '@darkroom/sdk';
import { translateErrors } from './errors.ts';
import { FILE_FIELDS, mostOutputs } from './task-input.ts';
import type { GivenFile, TaskInput } from './task-input.ts';
import { factsOf, outputFacts } from './tasks.ts';
import type { Tasks } from './tasks.ts';

type StatusResult = Awaited<ReturnType<NonNullable<VideoModelV4['doStatus']>>>;

export function createVideoModel(tasks: Tasks, modelId: string): VideoModelV4 {
  const url = `${tasks.client.baseUrl}/tasks`;
  return {
    specificationVersion: 'v4',
    provider: 'darkroom.video',
    modelId,
    maxVideosPerCall: async () =>
      translateErrors(url, async () => mostOutputs((await tasks.model(modelId)).input_schema)),
    async handleWebhookOption({ webhook }) {
      const { url: webhookUrl, received } = await webhook();
      return { webhookUrl, received };
    },
    doStart: async ({ webhookUrl, ...options }) =>
      translateErrors(url, async () => {
        const input = await videoInput(tasks, modelId, options);
        const { taskId } = await tasks.client.submit(modelId, input.values, {
          signal: options.abortSignal,
          ...(webhookUrl === undefined ? {} : { callback: { url: webhookUrl } }),
        });
        return {
          operation: { taskId },
          warnings: input.warnings,
          providerMetadata: { darkroom: { taskId } },
          response: { timestamp: new Date(), modelId, headers: undefined },
        };
      }),
    doStatus: async ({ operation, abortSignal }) =>
      translateErrors(url, async () => {
        const task = await tasks.client.get(taskIdOf(operation), { signal: abortSignal });
        return statusOf(tasks, task, abortSignal);
      }),
  };
}

async function statusOf(tasks: Tasks, task: Task, signal: AbortSignal | undefined): Promise<StatusResult> {
  const response = { timestamp: new Date(), modelId: task.model, headers: undefined };
  if (task.status === 'fail') {
    const { message = 'the task failed' } = task.error ?? {};
    return { status: 'error', error: message, providerMetadata: { darkroom: factsOf(task) }, response };
  }
  if (task.status !== 'success') return { status: 'pending', response };
  const videos = (task.output ?? []).filter(({ type }) => type === 'video');
  // Not their URLs: the AI SDK downloads nothing from a private address, where a Darkroom often is.
  const files = await Promise.all(
    videos.map(async (video) => {
      const response = await tasks.client.download(video, { signal });
      const data = new Uint8Array(await response.arrayBuffer());
      return { type: 'binary' as const, data, mediaType: video.mimeType };
    }),
  );
  return {
    status: 'completed',
    videos: files,
    warnings: [],
    providerMetadata: { darkroom: { videos: videos.map(outputFacts), ...factsOf(task) } },
    response,
  };
}

/** The operation may have been stored in between. */
function taskIdOf(operation: JSONValue): string {
  if (typeof operation === 'object' && operation !== null && 'taskId' in operation) {
    const { taskId } = operation;
    if (typeof taskId === 'string') return taskId;
  }
  throw new InvalidArgumentError({ argument: 'operation', message: 'it is not an operation that Darkroom started' });
}

async function videoInput(tasks: Tasks, modelId: string, options: VideoModelV4CallOptions): Promise<TaskInput> {
  const { prompt, n, aspectRatio, resolution, duration, fps, seed, generateAudio, providerOptions } = options;
  const input = await tasks.newInput(modelId);
  input.add('prompt', ['prompt'], prompt);
  if (n > 1) input.add('n', ['n'], n);
  input.add('aspectRatio', ['aspect_ratio'], aspectRatio);
  input.addSize('resolution', resolution);
  input.add('duration', ['duration', 'seconds'], duration);
  input.add('fps', ['fps'], fps);
  input.add('seed', ['seed'], seed);
  input.add('generateAudio', ['generate_audio', 'audio'], generateAudio);
  await addImages(input, options);
  input.addOwn(providerOptions['darkroom']);
  return input;
}

async function addImages(input: TaskInput, options: VideoModelV4CallOptions): Promise<void> {
  const { image, frameImages, inputReferences, abortSignal } = options;
  const frame = (wanted: string): readonly GivenFile[] =>
    (frameImages ?? []).filter(({ frameType }) => frameType === wanted).map((each) => each.image);
  await input.addFiles('image', FILE_FIELDS.firstFrame, image === undefined ? undefined : [image], abortSignal);
  await input.addFiles('frameImages', FILE_FIELDS.firstFrame, frame('first_frame'), abortSignal);
  await input.addFiles('frameImages', FILE_FIELDS.lastFrame, frame('last_frame'), abortSignal);
  await input.addFiles('inputReferences', FILE_FIELDS.reference, inputReferences, abortSignal);
}
