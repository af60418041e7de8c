/** `@google/genai` with an API key: content, and videos as interactions. */
import { GoogleGenAI } from '@google/genai';

const { models, interactions } = new GoogleGenAI({ apiKey: 'the-key' });
const options = { maxRetries: 0 };

export const calls = {
  generate: (parameters) => models.generateContent(parameters),
  create: (parameters) => interactions.create(parameters, options),
  get: (id) => interactions.get(id, undefined, options),
  cancel: (id) => interactions.cancel(id, undefined, options),
};
