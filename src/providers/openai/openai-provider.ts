/**
 * The OpenAI-compatible interfaces, which many services and self-hosted servers offer: images, speech, transcriptions
 * and videos. A binding selects one with its `api`; without it, the output of the model decides.
 */
import type { Modality } from '../../catalogue/definition.ts';
import type { Provider } from '../provider.ts';
import { createUpstreamCalls } from '../upstream-calls.ts';
import type { HttpProviderDeps } from '../upstream-calls.ts';
import { apiOf } from './api.ts';
import type { Api } from './api.ts';
import { createImages } from './images.ts';
import { createSpeech } from './speech.ts';
import { createTranscriptions } from './transcriptions.ts';
import { createVideos } from './videos.ts';

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
