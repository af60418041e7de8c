/** Darkroom as a provider of the AI SDK: models of all modalities behind one key. */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { NoSuchModelError } from '@ai-sdk/provider';
import type {
  Experimental_VideoModelV4 as VideoModelV4,
  ImageModelV4,
  LanguageModelV4,
  ProviderV4,
  SpeechModelV4,
  TranscriptionModelV4,
} from '@ai-sdk/provider';
import { Darkroom } from '@darkroom/sdk';
import type { DarkroomOptions } from '@darkroom/sdk';
import { createImageModel } from './image-model.ts';
import { createSpeechModel } from './speech-model.ts';
import { Tasks } from './tasks.ts';
import { createTranscriptionModel } from './transcription-model.ts';
import { createVideoModel } from './video-model.ts';

export interface DarkroomProvider extends ProviderV4 {
  (modelId: string): LanguageModelV4;
  /** The client of Darkroom that the models use, for everything that the AI SDK has no function for. */
  readonly client: Darkroom;
  languageModel(modelId: string): LanguageModelV4;
  image(modelId: string): ImageModelV4;
  imageModel(modelId: string): ImageModelV4;
  speech(modelId: string): SpeechModelV4;
  speechModel(modelId: string): SpeechModelV4;
  transcription(modelId: string): TranscriptionModelV4;
  transcriptionModel(modelId: string): TranscriptionModelV4;
  video(modelId: string): VideoModelV4;
  videoModel(modelId: string): VideoModelV4;
}

/** @throws {TypeError} the base URL, the key or a setting is not usable. */
export function createDarkroom(options: DarkroomOptions): DarkroomProvider {
  const client = new Darkroom(options);
  const tasks = new Tasks(client);
  const text = createOpenAICompatible({
    name: 'darkroom',
    baseURL: client.baseUrl,
    includeUsage: true,
    supportsStructuredOutputs: true,
    ...(options.apiKey === undefined ? {} : { apiKey: options.apiKey }),
    ...(options.fetch === undefined ? {} : { fetch: options.fetch }),
  });
  const languageModel = (modelId: string): LanguageModelV4 => text.languageModel(modelId);
  const image = (modelId: string): ImageModelV4 => createImageModel(tasks, modelId);
  const speech = (modelId: string): SpeechModelV4 => createSpeechModel(client, modelId);
  const transcription = (modelId: string): TranscriptionModelV4 => createTranscriptionModel(client, modelId);
  const video = (modelId: string): VideoModelV4 => createVideoModel(tasks, modelId);
  return Object.assign((modelId: string) => languageModel(modelId), {
    specificationVersion: 'v4' as const,
    client,
    languageModel,
    image,
    imageModel: image,
    speech,
    speechModel: speech,
    transcription,
    transcriptionModel: transcription,
    video,
    videoModel: video,
    embeddingModel(modelId: string): never {
      throw new NoSuchModelError({ modelId, modelType: 'embeddingModel' });
    },
  });
}
