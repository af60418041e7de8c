/** `openai`: images, speech, transcriptions and videos. */
import { Buffer } from 'node:buffer';
import OpenAI, { toFile } from 'openai';

const { images, audio, videos } = new OpenAI({ apiKey: 'the-key', maxRetries: 0 });

/** @param file its content in base64, its name and its type. */
const uploadOf = ({ base64, name, type }) => toFile(Buffer.from(base64, 'base64'), name, { type });

const uploadsOf = async (value) => (Array.isArray(value) ? Promise.all(value.map(uploadOf)) : uploadOf(value));

const contentOf = async (response) => Buffer.from(await (await response).arrayBuffer()).toString('base64');

export const calls = {
  generate: (body) => images.generate(body),
  async edit({ image, mask, ...body }) {
    const files = { image: await uploadsOf(image), ...(mask === undefined ? {} : { mask: await uploadOf(mask) }) };
    return images.edit({ ...body, ...files });
  },
  speech: (body) => contentOf(audio.speech.create(body)),
  async transcribe({ file, ...body }) {
    return audio.transcriptions.create({ ...body, file: await uploadOf(file) });
  },
  async translate({ file, ...body }) {
    return audio.translations.create({ ...body, file: await uploadOf(file) });
  },
  async createVideo({ input_reference: reference, ...body }) {
    return videos.create(reference === undefined ? body : { ...body, input_reference: await uploadOf(reference) });
  },
  video: (id) => videos.retrieve(id),
  deleteVideo: (id) => videos.delete(id),
  videoContent: (id) => contentOf(videos.downloadContent(id)),
};
