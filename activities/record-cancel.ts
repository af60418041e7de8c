/** Records that a task is to end, when its workflow was cancelled (src/tasks/lifecycle/cancel.ts). */
import { recordCancelRequest } from '../src/tasks/lifecycle/cancel.ts';
import type { Activities } from '../workflows/contracts.ts';
import type { ActivityContext } from './context.ts';

export function createRecordCancel({ database }: ActivityContext): Activities['recordCancel'] {
  return ({ taskId }) => recordCancelRequest(database, taskId);
}
