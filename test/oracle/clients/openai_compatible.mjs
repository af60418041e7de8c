/** `openai` at a server of one's own: images, speech and videos. */
import OpenAI, { toFile } from 'openai';

const openai = new OpenAI({ apiKey: 'the-key', baseURL: 'http://127.0.0.1:8080/v1', maxRetries: 0 });

export const calls = {
  image: async (body) => (await openai.images.generate(body)).data,
  speech: async (body) => Buffer.from(await (await openai.audio.speech.create(body)).arrayBuffer()).toString('base64'),
  createVideo: async ({ reference, ...body }) => {
    const file = reference && (await toFile(Buffer.from(reference, 'base64'), 'reference.png', { type: 'image/png' }));
    return openai.videos.create({ ...body, ...(file ? { input_reference: file } : {}) });
  },
  video: (id) => openai.videos.retrieve(id),
  deleteVideo: (id) => openai.videos.delete(id),
  content: async (id) => Buffer.from(await (await openai.videos.downloadContent(id)).arrayBuffer()).toString('base64'),
};
