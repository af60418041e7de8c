/** A task that has succeeded, as the service describes it. */
import type { WireOutput, WireTask } from '@darkroom/api/tasks/task';

export const BASE_URL = 'http://127.0.0.1:1/v1';

/** @param outputs what is particular about each; the rest does not matter here. */
export function doneTask(
  outputs: readonly Pick<WireOutput, 'type' | 'url' | 'mimeType' | 'sizeBytes' | 'width' | 'height'>[],
): WireTask {
  return {
    taskId: 'tk-svc-1',
    model: 'acme/model',
    status: 'success',
    created: 1_000_000_000,
    started: 1_000_000_001,
    completed: 1_000_000_002,
    storage: 'temp',
    keyId: 'key_1',
    output: outputs.map((output, position) => ({
      id: `out_${position}`,
      ...output,
      expireAt: 2_000_000_000,
      sha256: '0'.repeat(64),
      storage: 'temp' as const,
      retainUntil: 2_000_000_000,
    })),
    billing: { currency: 'USD', held: '1', captured: '1', released: '0' },
  };
}
