import type { UpstreamProtocol } from '../upstream-protocol.ts';
import { ApiSchema } from './api.ts';
import { createOpenAiProvider } from './openai-provider.ts';

export const openAiProtocol: UpstreamProtocol = {
  name: 'openai',
  fields: { api: ApiSchema },
  create: createOpenAiProvider,
};
