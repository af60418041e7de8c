/**
 * Called when a task no longer has a job at its upstream, or its job is no longer waited for: its slot is free, and no
 * webhook is expected for it. Only the next task in the queue depends on it: what was not written is swept
 * (src/upstreams/slots.ts).
 */
import type { TaskId } from '../domain/workflow-ids.ts';
import { forgetProviderHook } from '../upstreams/provider-hooks.ts';
import type { GenerationContext } from './context.ts';
import type { TaskRoute } from './task-route.ts';

/** Never fails. */
export async function releaseUpstreamSlot(
  { upstreams, database, logger }: GenerationContext,
  taskId: TaskId,
  { gated, provider }: Pick<TaskRoute, 'gated' | 'provider'>,
): Promise<void> {
  if (gated !== undefined) await upstreams.gate.release(gated, taskId);
  if (provider.callsBack !== true) return;
  await forgetProviderHook(database, taskId).catch((err: unknown) =>
    logger.warn({ err, taskId }, 'deleting the hooks of a task failed'),
  );
}
