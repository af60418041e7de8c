/** The door of the activities: all of them, made from one context, each shielded (failures.ts). */
import type { Activities } from '../workflows/contracts.ts';
import { createArchiveOutputs } from './archive-outputs.ts';
import { createAwaitGeneration } from './await-generation.ts';
import { createCancelGeneration } from './cancel-generation.ts';
import type { ActivityContext } from './context.ts';
import { shielded } from './failures.ts';
import { createReconcileTasks } from './reconcile-tasks.ts';
import { createSendCallback } from './send-callback.ts';
import { createSettleTask } from './settle-task.ts';
import { createSubmitGeneration } from './submit-generation.ts';

export function createActivities(context: ActivityContext): Activities {
  const { logger } = context;
  return {
    submitGeneration: shielded('submitGeneration', logger, createSubmitGeneration(context)),
    awaitGeneration: shielded('awaitGeneration', logger, createAwaitGeneration(context)),
    cancelGeneration: shielded('cancelGeneration', logger, createCancelGeneration(context)),
    archiveOutputs: shielded('archiveOutputs', logger, createArchiveOutputs(context)),
    settleTask: shielded('settleTask', logger, createSettleTask(context)),
    sendCallback: shielded('sendCallback', logger, createSendCallback(context)),
    reconcileTasks: shielded('reconcileTasks', logger, createReconcileTasks(context)),
  };
}
