/**
 * What follows a job that failed at an upstream which says that it does not bill it (docs/decisions/0004): if the route
 * allows it, the task goes to the next of its upstreams.
 */
import { fallbackOf } from '../catalogue/definition.ts';
import type { FailureReason } from '../domain/failure-reason.ts';
import { readFailedJobs, recordFailedJob } from '../tasks/lifecycle/generations.ts';
import type { WorkingTask } from '../tasks/lifecycle/transitions.ts';
import type { Generation } from '../tasks/lifecycle/generations.ts';
import type { GenerationContext } from './context.ts';
import type { GenerationFailure } from './failure.ts';
import { routeAt, routesOf } from './task-route.ts';
import type { TaskRoute } from './task-route.ts';

/** The reasons for which every upstream would fail. */
const REASONS_OF_THE_INPUT: readonly FailureReason[] = ['content_rejected', 'input_invalid', 'input_unreachable'];

/** Whether the task's last job is recorded as failed and not billed, and was at this upstream. */
export async function isFailedOver(
  context: GenerationContext,
  task: WorkingTask,
  upstreamIndex: number,
): Promise<boolean> {
  const { label } = await routeAt(context, task, upstreamIndex);
  return (await readFailedJobs(context.database, task.id)).last === String(label);
}

/** The upstreams of a task's route at which a job of it has failed, and which do not get it again. */
export async function findFailed(
  { database }: GenerationContext,
  task: WorkingTask,
  routes: readonly TaskRoute[],
): Promise<ReadonlySet<number>> {
  const [first] = routes;
  if (first === undefined || fallbackOf(first.definition, task.route) === 'refused') return new Set();
  const { labels } = await readFailedJobs(database, task.id);
  return new Set(routes.filter(({ label }) => labels.has(String(label))).map(({ upstreamIndex }) => upstreamIndex));
}

/**
 * Records that a job has failed, if another upstream may take the task.
 *
 * @returns false: its failure is the task's.
 */
export async function failOverJob(
  context: GenerationContext,
  task: WorkingTask,
  { upstreamIndex }: Pick<Generation, 'upstreamIndex'>,
  { reason, unbilledJobId: jobId }: GenerationFailure,
): Promise<boolean> {
  if (jobId === undefined || REASONS_OF_THE_INPUT.includes(reason)) return false;
  const routes = await routesOf(context, task);
  const route = routes.find((each) => each.upstreamIndex === upstreamIndex);
  if (route === undefined || fallbackOf(route.definition, task.route) === 'refused') return false;
  const failed = await findFailed(context, task, routes);
  const isLeft = routes.some((each) => each.label !== route.label && !failed.has(each.upstreamIndex));
  if (!isLeft) return false;
  await recordFailedJob(context.database, task, route, { jobId, reason });
  context.logger.info(
    { taskId: task.id, upstream: route.upstreamName, reason },
    'job failed without a bill, and the next upstream gets the task',
  );
  return true;
}
