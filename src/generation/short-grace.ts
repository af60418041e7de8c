/**
 * Warns of submits that a stopping worker may cut off: an upstream that answers only with the result is paid twice if
 * the submit is repeated, and may take longer than `UPSTREAM_GRACE_SECONDS` (docs/operations/scale.md, "Stopping a
 * worker").
 */
import { limitsOf } from '../catalogue/definition.ts';
import type { GenerationContext } from './context.ts';
import type { TaskRoute } from './task-route.ts';

type Context = Pick<GenerationContext, 'logger'> & {
  readonly config: { readonly worker: { upstreamGraceMs: number } };
};

/** The models and upstreams that were warned about: one warning per process is enough. */
const warned = new WeakMap<object, Set<string>>();

export function warnOfShortGrace(
  { config, logger }: Context,
  { definition, provider, upstreamName: upstream }: Pick<TaskRoute, 'definition' | 'provider' | 'upstreamName'>,
): void {
  if (!provider.worksWhileSubmitting || provider.isSubmitRepeatable) return;
  const graceSeconds = config.worker.upstreamGraceMs / 1000;
  const { handlingSeconds } = limitsOf(definition);
  if (handlingSeconds <= graceSeconds) return;
  const { name: model } = definition;
  const known = warned.get(config) ?? new Set();
  warned.set(config, known);
  const key = `${model} ${upstream}`;
  if (known.has(key)) return;
  known.add(key);
  logger.warn(
    { model, upstream, handlingSeconds, graceSeconds },
    'a model may take longer at an upstream than a stopping worker waits: raise UPSTREAM_GRACE_SECONDS, or lower limits.handlingSeconds',
  );
}
