/**
 * The OpenAI-compatible interfaces, which many services and self-hosted servers offer: images, speech, transcriptions
 * and videos. A binding selects one with its `api`; without it, the output of the model decides.
 */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import type { Modality } from '../../catalogue/definition.ts';
import type { UpstreamProtocol } from '../protocols.ts';
import type { Provider, UpstreamBinding } from '../provider.ts';
import { createUpstreamCalls } from '../upstream-calls.ts';
import type { HttpProviderDeps } from '../upstream-calls.ts';
import { createSpeech, createTranscriptions } from './audio.ts';
import { createImages } from './images.ts';
import { createVideos } from './videos.ts';

/** The interfaces of protocol `openai`: an upstream selects one with its `api`. */
const APIS = ['images', 'images.edit', 'speech', 'transcriptions', 'videos'] as const;

const ApiSchema = Type.Unsafe<(typeof APIS)[number]>({
  type: 'string',
  enum: [...APIS],
  description: 'Of `openai`: the interface. Default: what follows from what the model makes.',
});

type Api = Static<typeof ApiSchema>;

const USUAL_API: Readonly<Record<Modality, Api>> = {
  image: 'images',
  audio: 'speech',
  transcription: 'transcriptions',
  video: 'videos',
};

/** The adapter of protocol `openai`; unbound, it is the adapter for images. */
export function createOpenAiProvider(deps: HttpProviderDeps): Provider {
  const calls = createUpstreamCalls('openai', deps);
  const images = createImages(calls, { alwaysEdits: false });
  const byApi = {
    images,
    'images.edit': createImages(calls, { alwaysEdits: true }),
    speech: createSpeech(calls),
    transcriptions: createTranscriptions(calls),
    videos: createVideos(calls),
  };
  return { ...images, boundTo: (upstream, modality) => byApi[apiOf(upstream) ?? USUAL_API[modality]] };
}

/** @returns undefined if the upstream does not name one. */
function apiOf(upstream: UpstreamBinding): Api | undefined {
  const named = 'api' in upstream ? upstream.api : undefined;
  return APIS.find((api) => api === named);
}

export const openAiProtocol: UpstreamProtocol = {
  name: 'openai',
  fields: { api: ApiSchema },
  create: createOpenAiProvider,
};
