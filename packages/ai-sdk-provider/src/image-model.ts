/** Images: one task for each call. */
import type { ImageModelV4, ImageModelV4CallOptions, ImageModelV4Result } from '@ai-sdk/provider';
import { translateErrors } from './errors.ts';
import { FILE_FIELDS, mostOutputs } from './task-input.ts';
import type { TaskInput } from './task-input.ts';
import { factsOf, outputFacts } from './tasks.ts';
import type { Tasks } from './tasks.ts';

export function createImageModel(tasks: Tasks, modelId: string): ImageModelV4 {
  const url = `${tasks.client.baseUrl}/tasks`;
  return {
    specificationVersion: 'v4',
    provider: 'darkroom.image',
    modelId,
    maxImagesPerCall: async () =>
      translateErrors(url, async () => mostOutputs((await tasks.model(modelId)).input_schema)),
    doGenerate: async (options) => translateErrors(url, () => generate(tasks, modelId, options)),
  };
}

async function generate(tasks: Tasks, modelId: string, options: ImageModelV4CallOptions): Promise<ImageModelV4Result> {
  const { abortSignal: signal } = options;
  const input = await imageInput(tasks, modelId, options);
  const { task, outputs } = await tasks.run(modelId, input.values, signal);
  const images = outputs.filter(({ type }) => type === 'image');
  const files = await Promise.all(
    images.map(async (image) => {
      const response = await tasks.client.download(image, { signal });
      return new Uint8Array(await response.arrayBuffer());
    }),
  );
  return {
    images: files,
    warnings: input.warnings,
    providerMetadata: { darkroom: { images: images.map(outputFacts), ...factsOf(task) } },
    response: { timestamp: new Date(task.completed * 1000), modelId: task.model, headers: undefined },
  };
}

async function imageInput(tasks: Tasks, modelId: string, options: ImageModelV4CallOptions): Promise<TaskInput> {
  const { prompt, n, size, aspectRatio, seed, files, mask, providerOptions, abortSignal } = options;
  const input = await tasks.newInput(modelId);
  input.add('prompt', ['prompt'], prompt);
  if (n > 1) input.add('n', ['n'], n);
  input.add('aspectRatio', ['aspect_ratio'], aspectRatio);
  input.addSize('size', size);
  input.add('seed', ['seed'], seed);
  await input.addFiles('files', FILE_FIELDS.image, files, abortSignal);
  await input.addFiles('mask', FILE_FIELDS.mask, mask === undefined ? undefined : [mask], abortSignal);
  input.addOwn(providerOptions['darkroom']);
  return input;
}
