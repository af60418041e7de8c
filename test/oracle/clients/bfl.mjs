/** `@ai-sdk/black-forest-labs`, used with `ai`: one call submits, polls and downloads. */
import { createBlackForestLabs } from '@ai-sdk/black-forest-labs';
import { generateImage } from 'ai';

// Two polls, and no more.
const { image } = createBlackForestLabs({ apiKey: 'the-key', pollIntervalMillis: 1, pollTimeoutMillis: 2 });

export const calls = {
  async generate(model, prompt, { options = {}, ...settings } = {}) {
    const { images } = await generateImage({
      model: image(model),
      prompt,
      maxRetries: 0,
      providerOptions: { blackForestLabs: options },
      ...settings,
    });
    return images.map(({ base64 }) => base64);
  },
};
