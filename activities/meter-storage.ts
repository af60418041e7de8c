/**
 * One pass of the storage metering: charges what is due (src/billing/storage-metering.ts), then returns outputs that
 * were not paid for during a week to temporary storage (src/tasks/lifecycle/storage-operations.ts).
 */
import { meterStorage } from '../src/billing/storage-metering.ts';
import { passTools } from '../src/limits/pass-tools.ts';
import { returnUnpaidOutputs } from '../src/tasks/lifecycle/storage-operations.ts';
import type { Activities } from '../workflows/contracts.ts';
import type { ActivityContext } from './context.ts';
import { untilWorkerStops } from './heartbeat.ts';

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
