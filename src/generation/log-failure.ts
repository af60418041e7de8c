/** Logs that a provider failed work that it had accepted. */
import type { ProviderFailure } from '../providers/provider.ts';
import type { GenerationContext } from './context.ts';
import type { TaskRoute } from './task-route.ts';

/** Success without a file is a fault of the mapping or of the provider, and not of the work. */
export function logFailure(
  { logger }: Pick<GenerationContext, 'logger'>,
  { request, upstreamName }: TaskRoute,
  { reason, isUnbilled }: ProviderFailure,
): void {
  const { taskId, upstream } = request;
  const level = reason === 'no_output' ? 'warn' : 'info';
  logger[level](
    { taskId, upstream: upstreamName, protocol: upstream.protocol, reason, isUnbilled },
    'provider failed the task',
  );
}
