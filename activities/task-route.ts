/**
 * From a task's row to who does its work: the pinned definition's route and the provider of its upstream.
 */
import { upstreamOf } from '../src/catalogue/definition.ts';
import type { ModelDefinition } from '../src/catalogue/definition.ts';
import type { GenerationRequest, Provider } from '../src/providers/provider.ts';
import type { WorkingTask } from '../src/tasks/work.ts';
import type { ActivityContext } from './context.ts';
import { permanent } from './failures.ts';

export interface TaskRoute {
  readonly definition: ModelDefinition;
  readonly provider: Provider;
  readonly request: GenerationRequest;
  /** How the upstream is called in records and logs: its protocol and, where it has one, its host. */
  readonly upstreamName: string;
}

/** @throws {ApplicationFailure} `model_unavailable`: the protocol is not known to this release. */
export async function routeOf(context: ActivityContext, task: WorkingTask): Promise<TaskRoute> {
  const definition = await context.definitions.read(task.definitionHash);
  const upstream = upstreamOf(definition, task.route);
  const provider = upstream === undefined ? undefined : context.providers.get(upstream.protocol);
  if (upstream === undefined || provider === undefined) throw permanent('model_unavailable');
  const host = upstream.baseUrl === undefined ? '' : `:${new URL(upstream.baseUrl).host}`;
  return {
    definition,
    provider,
    request: { taskId: task.id, upstream, input: task.input },
    upstreamName: `${upstream.protocol}${host}`,
  };
}
