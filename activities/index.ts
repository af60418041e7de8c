/** The entry point of the activities: all of them, made from the context of their process, each wrapped (failures.ts). */
import { classifyStorageTimeout } from '../src/generation/storage-timeout.ts';
import type { Activities } from '../workflows/contracts.ts';
import type { ActivityContext } from './context.ts';
import { createExpireOutputs } from './expire-outputs.ts';
import { translateFailures } from './failures.ts';
import {
  createArchiveOutputs,
  createAwaitGeneration,
  createCancelGeneration,
  createRecordCancel,
  createSettleTask,
  createSubmitGeneration,
  createTakeOverRun,
} from './media-task.ts';
import { createReconcileTasks } from './reconcile-tasks.ts';
import { createSendCallback } from './send-callback.ts';
import { createMeterStorage, createPromoteOutput } from './storage.ts';
import { createSweepObjects } from './sweep-objects.ts';

export function createActivities(context: ActivityContext): Activities {
  const { logger, cancels } = context;
  return {
    submitGeneration: translateFailures(
      'submitGeneration',
      logger,
      classifyStorageTimeout(context, createSubmitGeneration(context)),
      cancels,
    ),
    takeOverRun: translateFailures('takeOverRun', logger, createTakeOverRun(context)),
    awaitGeneration: translateFailures(
      'awaitGeneration',
      logger,
      classifyStorageTimeout(context, createAwaitGeneration(context)),
      cancels,
    ),
    recordCancel: translateFailures('recordCancel', logger, createRecordCancel(context)),
    cancelGeneration: translateFailures('cancelGeneration', logger, createCancelGeneration(context)),
    archiveOutputs: translateFailures(
      'archiveOutputs',
      logger,
      classifyStorageTimeout(context, createArchiveOutputs(context)),
    ),
    settleTask: translateFailures('settleTask', logger, createSettleTask(context)),
    sendCallback: translateFailures('sendCallback', logger, createSendCallback(context)),
    reconcileTasks: translateFailures('reconcileTasks', logger, createReconcileTasks(context)),
    promoteOutput: translateFailures('promoteOutput', logger, createPromoteOutput(context)),
    expireOutputs: translateFailures('expireOutputs', logger, createExpireOutputs(context)),
    sweepObjects: translateFailures('sweepObjects', logger, createSweepObjects(context)),
    meterStorage: translateFailures('meterStorage', logger, createMeterStorage(context)),
  };
}
