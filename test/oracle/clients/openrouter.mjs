/** `@openrouter/sdk`: images and videos. */
import { Buffer } from 'node:buffer';
import { OpenRouter } from '@openrouter/sdk';

const { images, videoGeneration } = new OpenRouter({ apiKey: 'the-key', retryConfig: { strategy: 'none' } });

export const calls = {
  image: (imageGenerationRequest) => images.generate({ imageGenerationRequest }),
  video: (videoGenerationRequest) => videoGeneration.generate({ videoGenerationRequest }),
  poll: (jobId) => videoGeneration.getGeneration({ jobId }),
  async content(jobId) {
    const stream = await videoGeneration.getVideoContent({ jobId });
    return Buffer.from(await new Response(stream).arrayBuffer()).toString('base64');
  },
};
