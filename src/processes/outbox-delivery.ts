/**
 * How each kind of outbox row is delivered to Temporal. Separate from the launcher, which decides when a row is
 * delivered and what happens to it afterwards.
 */
import { isRequestedAgain } from '../callbacks/attempts.ts';
import { fallbackOf, limitsOf, upstreamOf } from '../catalogue/definition.ts';
import type { PinnedDefinitions } from '../catalogue/pinned-definitions.ts';
import { EMBEDDED_PROTOCOL } from '../domain/upstream-names.ts';
import type { Queryable } from '../database/database.ts';
import { isTerminal } from '@darkroom/api/facts/task-status';
import { isTaskId } from '../domain/workflow-ids.ts';
import { renewDeadlines } from '../tasks/repair/lost-commits.ts';
import type { OutboxItem } from '../tasks/outbox/outbox.ts';
import { readTask } from '../tasks/record/read.ts';
import type { Tracing } from '../telemetry/tracing.ts';
import type { WorkPriority, WorkflowGateway } from '../temporal/workflow-gateway.ts';

/** The requests that deliveries make to Temporal. */
export type DeliveryGateway = Pick<
  WorkflowGateway,
  'startTask' | 'startCallback' | 'deliverAgain' | 'startStop' | 'startPromotion' | 'wakeTask' | 'cancelTask'
>;

export interface DeliveryDependencies {
  readonly database: Queryable;
  readonly gateway: DeliveryGateway;
  readonly definitions: PinnedDefinitions;
  readonly tracing: Tracing;
}

/**
 * @returns a function that delivers a row and returns whether the row is finished. An unfinished row becomes due
 *   again. It throws if Temporal did not accept the delivery.
 */
export function createDelivery(dependencies: DeliveryDependencies): (item: OutboxItem) => Promise<boolean> {
  const { database, gateway, definitions, tracing } = dependencies;

  const deliverToTemporal = async (item: OutboxItem): Promise<boolean> => {
    switch (item.kind) {
      case 'start_task': {
        const definition = await definitions.read(item.definitionHash);
        const limits = limitsOf(definition);
        const start = {
          taskId: item.subjectId,
          accountId: item.accountId,
          model: item.model,
          route: item.route,
          ...limits,
          isUpstream: upstreamOf(definition, item.route)?.protocol !== EMBEDDED_PROTOCOL,
          ...(fallbackOf(definition, item.route) === 'refused' ? {} : { failsOver: true }),
          ...(item.requestHash === null ? {} : { requestHash: item.requestHash }),
        };
        const priority = priorityOf(item);
        const found = await gateway.startTask(start, priority);
        // If a run has closed although its task is open, this database has lost commits: another run takes over its
        // results (docs/decisions/0005). If the task has ended, the closed run is the one that this row had started.
        if (found.kind === 'closed' && (await renewDeadlines(database, item.subjectId, limits))) {
          await gateway.startTask(start, priority, found.runId);
        }
        return true;
      }
      case 'deliver_callback':
        // A delivery that is already running continues as planned; but a restart of the delivery may have come in its
        // last moment.
        if (await gateway.startCallback(item.subjectId, item.accountId)) return true;
        if (await isRequestedAgain(database, item.subjectId)) return true;
        await gateway.deliverAgain(item.subjectId, item.accountId);
        return true;
      case 'stop_generation':
        await gateway.startStop(item.subjectId, item.accountId);
        return true;
      case 'promote_output':
        await gateway.startPromotion(item.subjectId, item.accountId);
        return true;
      case 'wake_task':
        await gateway.wakeTask(item.subjectId);
        return true;
      case 'cancel_task': {
        if (await gateway.cancelTask(item.subjectId)) return true;
        // There is no workflow yet because its start is still on the way: the row becomes due again. If the cancel has
        // already ended the task, a start that arrives later finds it ended.
        return isTerminal((await readTask(database, item.subjectId)).status);
      }
    }
  };

  return async (item) => {
    const startedAt = Date.now();
    const isDone = await deliverToTemporal(item);
    if (isTaskId(item.subjectId)) {
      const attributes = { 'darkroom.task_id': item.subjectId };
      tracing.task(item.subjectId, { name: `deliver to Temporal: ${item.kind}`, startedAt, attributes });
    }
    return isDone;
  };
}

function priorityOf({ isOfBatch }: { readonly isOfBatch: boolean }): WorkPriority {
  return isOfBatch ? 'batch' : 'regular';
}
