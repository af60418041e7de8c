/** `@ai-sdk/xai`: images, and videos, which it polls itself. */
import { Buffer } from 'node:buffer';
import { createXai } from '@ai-sdk/xai';

const { image, video } = createXai({ apiKey: 'the-key' });

/** @param file its content in base64 and its type. */
const fileOf = ({ base64, type }) => ({ type: 'file', mediaType: type, data: Buffer.from(base64, 'base64') });

export const calls = {
  async image(model, { files, ...options }) {
    const { images, providerMetadata } = await image(model).doGenerate({ ...options, files: files?.map(fileOf) });
    return { images, ticks: providerMetadata.xai.costInUsdTicks };
  },
  async video(model, { file, ...options }) {
    const { xai } = options.providerOptions ?? {};
    const { videos, providerMetadata } = await video(model).doGenerate({
      ...options,
      ...(file === undefined ? {} : { image: fileOf(file) }),
      providerOptions: { xai: { ...xai, pollIntervalMs: 1 } },
    });
    return { videos, ticks: providerMetadata.xai.costInUsdTicks };
  },
};
