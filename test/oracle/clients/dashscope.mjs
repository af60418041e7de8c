/** `@ai-sdk/alibaba`: Wan. A call submits, and polls until the job has ended. */
import { createAlibaba } from '@ai-sdk/alibaba';

const alibaba = createAlibaba({ apiKey: 'the-key' });

export const calls = {
  generate: async (model, options) => {
    const { videos, providerMetadata } = await alibaba.video(model).doGenerate({
      n: 1,
      ...options,
      providerOptions: { alibaba: { pollIntervalMs: 1, ...options.providerOptions } },
    });
    return { videos, seconds: providerMetadata.alibaba.usage.duration };
  },
};
