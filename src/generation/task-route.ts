/**
 * From a task's row to the providers that do its work: the pinned definition's route and the providers of its
 * upstreams.
 */
import { balanceOf, upstreamsOf } from '../catalogue/definition.ts';
import type { Balance, ModelDefinition, Upstream } from '../catalogue/definition.ts';
import { withDefaults } from '../catalogue/input-defaults.ts';
import { EMBEDDED_PROTOCOL } from '../domain/upstream-names.ts';
import type { GenerationRequest, Provider } from '../providers/provider.ts';
import type { WorkingTask } from '../tasks/lifecycle/transitions.ts';
import type { UpstreamPosition } from '../tasks/lifecycle/generations.ts';
import type { GatedUpstream } from '../upstreams/gate.ts';
import { concurrencyOf, upstreamName } from '../upstreams/upstream-caps.ts';
import type { GenerationContext } from './context.ts';
import { permanentFailure } from './failure.ts';
import { withFormats } from './transcript-formats.ts';

/** One upstream that a task's route names. */
export interface TaskRoute extends UpstreamPosition {
  readonly definition: ModelDefinition;
  readonly provider: Provider;
  readonly request: GenerationRequest;
  /** What its work costs if it does not say so. */
  readonly costRule?: Upstream['cost'];
  /** Undefined: an embedded engine, which has no limits but those of the pool. */
  readonly gated: GatedUpstream | undefined;
  /** How the upstreams of the route are balanced. */
  readonly balance: Balance;
  /** Its share of a balanced route; 0: only where no other takes the task. */
  readonly weight: number;
  /** The pool of which it is a member. */
  readonly pool: string | undefined;
}

/**
 * The upstreams of a task's route that this release knows, in the order in which they are tried.
 *
 * @throws {GenerationFailure} `model_unavailable`: there are none.
 */
export async function routesOf(context: GenerationContext, task: WorkingTask): Promise<readonly TaskRoute[]> {
  const definition = await context.definitions.read(task.definitionHash);
  const balance = balanceOf(definition, task.route);
  const routes = upstreamsOf(definition, task.route).flatMap((upstream, upstreamIndex) => {
    const known = context.providers.get(upstream.protocol);
    if (known === undefined) return [];
    const provider = known.boundTo?.(upstream, definition.modality) ?? known;
    const name = upstreamName(upstream);
    // One engine serves models with different defaults; an upstream has its own, and receives what the caller sent.
    const isOurs = upstream.protocol === EMBEDDED_PROTOCOL;
    const input = isOurs ? withDefaults(definition.inputSchema, task.input) : withFormats(definition, task.input);
    return {
      definition,
      provider,
      request: { taskId: task.id, upstream, input },
      upstreamName: name,
      upstreamIndex,
      label: upstream.id ?? upstreamIndex + 1,
      costRule: upstream.cost,
      gated: isOurs ? undefined : { name, concurrency: concurrencyOf(upstream), isCounted: balance === 'least_busy' },
      balance,
      weight: upstream.weight ?? 1,
      pool: upstream.pool,
    };
  });
  if (routes.length === 0) {
    const protocols = upstreamsOf(definition, task.route).map(({ protocol }) => protocol);
    context.logger.error(
      { taskId: task.id, model: task.model, protocols },
      'this release knows no protocol of the model',
    );
    throw permanentFailure('model_unavailable');
  }
  return routes;
}

/**
 * The upstream that has a task's generation.
 *
 * @param upstreamIndex its recorded index.
 * @throws {GenerationFailure} `model_unavailable`: this release does not know its protocol.
 */
export async function routeAt(
  context: GenerationContext,
  task: WorkingTask,
  upstreamIndex: number,
): Promise<TaskRoute> {
  const route = (await routesOf(context, task)).find((each) => each.upstreamIndex === upstreamIndex);
  if (route === undefined) {
    context.logger.error(
      { taskId: task.id, model: task.model, upstreamIndex },
      'this release knows no protocol of the upstream',
    );
    throw permanentFailure('model_unavailable');
  }
  return route;
}
