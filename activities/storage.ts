/** The activities of persistent storage: its metering, and the promotion of an output. */
import { meterStorage } from '../src/billing/storage-metering.ts';
import { passTools } from '../src/limits/pass-tools.ts';
import { ObjectNotFoundError } from '../src/objects/stores/object-store.ts';
import { finishPromotion, returnUnpaidOutputs } from '../src/tasks/lifecycle/storage-operations.ts';
import type { Activities, PromoteOutputInput } from '../workflows/contracts.ts';
import type { ActivityContext } from './context.ts';
import { untilWorkerStops } from './heartbeat.ts';

/**
 * One pass of the metering: charges what is due, then returns outputs that were not paid for during a week to temporary
 * storage.
 */
export function createMeterStorage(context: ActivityContext): Activities['meterStorage'] {
  const { config, logger } = context;
  return () =>
    untilWorkerStops(context, async (signal) => {
      const { database, isolate } = passTools(context, signal);
      const now = await context.clock.read();
      const assertWanted = (): void => signal.throwIfAborted();
      const days = await meterStorage(database, {
        now,
        priceMicroUsdPerGbMonth: config.storagePriceMicroUsdPerGbMonth,
        onDay: assertWanted,
        isolate,
      });
      const retentionDays = config.outputRetentionDays;
      const returned = await returnUnpaidOutputs(database, { now, retentionDays, onBatch: assertWanted, isolate });
      if (days > 0 || returned > 0) logger.info({ days, returned }, 'persistent storage metered');
      return { days, returned };
    });
}

/** Completes a pending promotion: only an output that is in the store, with all its bytes, becomes persistent. */
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
