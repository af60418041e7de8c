/**
 * One pass of the metering: books what is due (src/billing/storage-metering.ts), then returns what was not paid for a
 * week to temporary storage (src/tasks/storage-operations.ts).
 */
import { Context } from '@temporalio/activity';
import { meterStorage } from '../src/billing/storage-metering.ts';
import { returnUnpaidOutputs } from '../src/tasks/storage-operations.ts';
import type { Activities } from '../workflows/contracts.ts';
import type { ActivityContext } from './context.ts';
import { passTools } from './passes.ts';

export function createMeterStorage(context: ActivityContext): Activities['meterStorage'] {
  const { config, logger } = context;
  const { database, isolate } = passTools(context);
  return async () => {
    const now = await context.clock.read();
    const heartbeat = (): void => Context.current().heartbeat();
    const days = await meterStorage(database, {
      now,
      priceMicroUsdPerGbMonth: config.storagePriceMicroUsdPerGbMonth,
      onDay: heartbeat,
      isolate,
    });
    const retentionDays = config.outputRetentionDays;
    const returned = await returnUnpaidOutputs(database, { now, retentionDays, onBatch: heartbeat, isolate });
    if (days > 0 || returned > 0) logger.info({ days, returned }, 'persistent storage was metered');
    return { days, returned };
  };
}
