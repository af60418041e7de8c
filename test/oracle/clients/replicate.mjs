/** `replicate`: predictions. */
import Replicate from 'replicate';

const replicate = new Replicate({ auth: 'the-key', useFileOutput: false });

export const calls = {
  create: (options) => replicate.predictions.create(options),
  get: (id) => replicate.predictions.get(id),
  cancel: (id) => replicate.predictions.cancel(id),
  /** Creates a prediction and waits for its output. */
  run: (model, input) => replicate.run(model, { input, wait: { mode: 'poll', interval: 1 } }),
};
