/**
 * Completes a pending promotion (src/tasks/lifecycle/storage-operations.ts): only an output that is in the store, with
 * all its bytes, becomes persistent.
 */
import { ObjectNotFoundError } from '../src/objects/stores/object-store.ts';
import { finishPromotion } from '../src/tasks/lifecycle/storage-operations.ts';
import type { Activities, PromoteOutputInput } from '../workflows/contracts.ts';
import type { ActivityContext } from './context.ts';

export function createPromoteOutput(context: ActivityContext): Activities['promoteOutput'] {
  const hasBytes = async (objectKey: string, sizeBytes: number): Promise<boolean> => {
    try {
      return (await context.store.head(objectKey)).sizeBytes === sizeBytes;
    } catch (error) {
      if (error instanceof ObjectNotFoundError) return false;
      throw error;
    }
  };
  return async ({ outputId }: PromoteOutputInput) => {
    const { database, accountDatabase } = context;
    const now = await context.clock.read();
    const outcome = await finishPromotion(database, outputId, now, hasBytes, accountDatabase);
    if (outcome === 'given_up') context.logger.warn({ outputId }, 'output to be promoted no longer exists');
    else context.logger.info({ outputId, outcome }, 'promotion ended');
    return { state: outcome };
  };
}
