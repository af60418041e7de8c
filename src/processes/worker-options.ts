/** What Temporal workers are created with that the configuration decides: how they poll, and of which release they are. */
import type { WorkerOptions } from '@temporalio/worker';
import type { Config } from '../config/config.ts';
import { deploymentNameOf } from '../domain/workflow-ids.ts';

type WorkerConfig = Config['worker'];

/**
 * Concurrent polls for activities. By default there is one: when a worker shuts down, the SDK stops listening at the
 * first poll that returns empty, and drops the activity that another one returns at that moment, which then waits for
 * its heartbeat time-out. The server must answer polls on shutdown (`frontend.enableCancelWorkerPollsOnShutdown`), and
 * a queue must have one partition (`matching.numTaskqueueReadPartitions`): a poll that is forwarded between partitions
 * can be lost too. Set as a poller behaviour because the SDK ignores `maxConcurrentActivityTaskPolls`.
 */
export function activityPolls({ polls }: WorkerConfig): Pick<WorkerOptions, 'activityTaskPollerBehavior'> {
  return { activityTaskPollerBehavior: { type: 'simple-maximum', maximum: polls.activities } };
}

/** Concurrent polls for steps of workflows, which are handed over again at once if one is lost. */
export function workflowPolls({ polls }: WorkerConfig): Pick<WorkerOptions, 'workflowTaskPollerBehavior'> {
  return { workflowTaskPollerBehavior: { type: 'simple-maximum', maximum: polls.workflows } };
}

/**
 * The release that a worker belongs to (docs/decisions/0025). Without a build id, and on the queues that an earlier
 * release shared between installations, it has no version.
 */
export function versionOf(
  { buildId }: WorkerConfig,
  installationId: string | undefined,
): Pick<WorkerOptions, 'workerDeploymentOptions'> {
  if (buildId === undefined || installationId === undefined) return {};
  return {
    workerDeploymentOptions: {
      version: { deploymentName: deploymentNameOf(installationId), buildId },
      useWorkerVersioning: true,
      // A workflow that stays on its release says so itself.
      defaultVersioningBehavior: 'AUTO_UPGRADE',
    },
  };
}
