/** The interfaces of protocol `openai`: an upstream selects one with its `api`. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import type { UpstreamBinding } from '../provider.ts';

const APIS = ['images', 'images.edit', 'speech', 'transcriptions', 'videos'] as const;

export const ApiSchema = Type.Unsafe<(typeof APIS)[number]>({
  type: 'string',
  enum: [...APIS],
  description: 'Of `openai`: the interface. Default: what follows from what the model makes.',
});

export type Api = Static<typeof ApiSchema>;

/** @returns undefined if the upstream does not name one. */
export function apiOf(upstream: UpstreamBinding): Api | undefined {
  const named = 'api' in upstream ? upstream.api : undefined;
  return APIS.find((api) => api === named);
}
