/** `@ai-sdk/bytedance`: Seedance, where a call submits and polls until the job has ended, and Seedream. */
import { createByteDance } from '@ai-sdk/bytedance';

const ark = createByteDance({ apiKey: 'the-key' });

export const calls = {
  video: async (model, options) => {
    const { videos, providerMetadata } = await ark.video(model).doGenerate({
      n: 1,
      ...options,
      providerOptions: { bytedance: { pollIntervalMs: 1, ...options.providerOptions } },
    });
    return { videos, usage: providerMetadata.bytedance.usage };
  },
  image: async (model, options) => {
    const { images } = await ark.image(model).doGenerate({
      n: 1,
      ...options,
      providerOptions: { bytedance: options.providerOptions ?? {} },
    });
    return images;
  },
};
