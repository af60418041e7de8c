/** `@runwayml/sdk`: tasks. */
import RunwayML from '@runwayml/sdk';

const client = new RunwayML({ apiKey: 'the-key', maxRetries: 0 });

export const calls = {
  textToVideo: async (body) => client.textToVideo.create(body),
  imageToVideo: async (body) => client.imageToVideo.create(body),
  textToImage: async (body) => client.textToImage.create(body),
  retrieve: async (id) => client.tasks.retrieve(id),
  /** The output of a task that has ended. */
  output: async (id) => (await client.tasks.retrieve(id).waitForTaskOutput()).output,
  delete: async (id) => client.tasks.delete(id),
};
