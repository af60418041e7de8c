/** The entry point of the activities: all of them, made from one context, each wrapped (failures.ts). */
import type { Activities } from '../workflows/contracts.ts';
import { createArchiveOutputs } from './archive-outputs.ts';
import { createAwaitGeneration } from './await-generation.ts';
import { createCancelGeneration } from './cancel-generation.ts';
import type { ActivityContext } from './context.ts';
import { createExpireOutputs } from './expire-outputs.ts';
import { shielded } from './failures.ts';
import { createMeterStorage } from './meter-storage.ts';
import { createPromoteOutput } from './promote-output.ts';
import { createReconcileTasks } from './reconcile-tasks.ts';
import { createSendCallback } from './send-callback.ts';
import { createSettleTask } from './settle-task.ts';
import { blamingTheStore } from '../src/generation/storage-timeout.ts';
import { createSubmitGeneration } from './submit-generation.ts';
import { createSweepObjects } from './sweep-objects.ts';
import { createTakeOverRun } from './take-over-run.ts';

export function createActivities(context: ActivityContext): Activities {
  const { logger } = context;
  return {
    submitGeneration: shielded('submitGeneration', logger, blamingTheStore(context, createSubmitGeneration(context))),
    takeOverRun: shielded('takeOverRun', logger, createTakeOverRun(context)),
    awaitGeneration: shielded('awaitGeneration', logger, blamingTheStore(context, createAwaitGeneration(context))),
    cancelGeneration: shielded('cancelGeneration', logger, createCancelGeneration(context)),
    archiveOutputs: shielded('archiveOutputs', logger, blamingTheStore(context, createArchiveOutputs(context))),
    settleTask: shielded('settleTask', logger, createSettleTask(context)),
    sendCallback: shielded('sendCallback', logger, createSendCallback(context)),
    reconcileTasks: shielded('reconcileTasks', logger, createReconcileTasks(context)),
    promoteOutput: shielded('promoteOutput', logger, createPromoteOutput(context)),
    expireOutputs: shielded('expireOutputs', logger, createExpireOutputs(context)),
    sweepObjects: shielded('sweepObjects', logger, createSweepObjects(context)),
    meterStorage: shielded('meterStorage', logger, createMeterStorage(context)),
  };
}
