/** Examples that tools cannot generate from a schema: a finished task. */
import type { WireTask } from '@darkroom/api/tasks/task';

const EXAMPLE_TASK: WireTask = {
  taskId: 'tk-svc-01KAJ5Q2W8ZV4N6T0R3M9C7XHB',
  model: 'darkroom/scene',
  status: 'success',
  created: 1_763_700_000,
  started: 1_763_700_001,
  completed: 1_763_700_003,
  storage: 'temp',
  keyId: '4Gq0ZrT8bW',
  metadata: { order: '7' },
  output: [
    {
      url: 'https://api.example.com/media/v1.out_01KAJ5Q5B0.t62f60.mQ0b2rT7yW9xK3nV5cZ8aE/tk-svc-01KAJ5Q2W8ZV4N6T0R3M9C7XHB-1.png',
      type: 'image',
      expireAt: 1_763_702_100,
      id: 'out_01KAJ5Q5B0',
      mimeType: 'image/png',
      sizeBytes: 1_482_113,
      width: 1024,
      height: 1024,
      sha256: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
      storage: 'temp',
      retainUntil: 1_764_304_803,
    },
  ],
  billing: { currency: 'USD', held: '0.01', captured: '0.01', released: '0' },
};

/** Examples of schemas, by the names of their components. */
export const SCHEMA_EXAMPLES: Readonly<Record<string, unknown>> = { Task: EXAMPLE_TASK };
