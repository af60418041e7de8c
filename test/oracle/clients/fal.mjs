/** `@fal-ai/client`: the queue. */
import { createFalClient } from '@fal-ai/client';

const { queue } = createFalClient({ credentials: 'the-key' });

export const calls = {
  submit: (model, input, webhookUrl) => queue.submit(model, { input, webhookUrl }),
  status: (model, requestId) => queue.status(model, { requestId }),
  result: (model, requestId) => queue.result(model, { requestId }),
  cancel: (model, requestId) => queue.cancel(model, { requestId }),
};
