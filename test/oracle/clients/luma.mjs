/** `lumaai`: generations. */
import { LumaAI } from 'lumaai';

// By default it uses a `fetch` of its own.
const { generations } = new LumaAI({ authToken: 'the-key', maxRetries: 0, fetch: globalThis.fetch });

export const calls = {
  video: async (body) => generations.video.create(body),
  image: async (body) => generations.image.create(body),
  get: async (id) => generations.get(id),
  delete: async (id) => generations.delete(id),
};
