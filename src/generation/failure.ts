/**
 * How the generation of a task fails: for good, with a reason from the closed list, or so that another attempt may
 * succeed. It knows nothing of Temporal: `activities/failures.ts` makes of it what a history keeps.
 */
import type { FailureReason } from '../domain/failure-reason.ts';
import { inputFault, reasonOfFault } from '@darkroom/api/facts/input-fault';
import type { FaultKind, InputFault } from '@darkroom/api/facts/input-fault';
import type { ProviderFailure } from '../providers/provider.ts';
import type { GenerationContext } from './context.ts';
import type { TaskRoute } from './task-route.ts';

interface FailureDetails {
  readonly isPermanent: boolean;
  readonly fault?: InputFault | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly unbilledJobId?: string | undefined;
}

/** Its message is kept in histories, and so contains nothing but the reason. */
export class GenerationFailure extends Error {
  override readonly name = 'GenerationFailure';
  readonly reason: FailureReason;
  /** The task can no longer succeed; otherwise another attempt may. */
  readonly isPermanent: boolean;
  /** What is wrong with the input: a field's path and a member of a closed list. */
  readonly fault: InputFault | undefined;
  /** The time until the next attempt, if it is known. */
  readonly retryAfterMs: number | undefined;
  /** The job that failed, if its provider says that it does not bill it: another upstream may take the work. */
  readonly unbilledJobId: string | undefined;

  constructor(reason: FailureReason, { isPermanent, fault, retryAfterMs, unbilledJobId }: FailureDetails) {
    super(`${isPermanent ? 'permanent' : 'passing'}: ${reason}`);
    this.reason = reason;
    this.isPermanent = isPermanent;
    this.fault = fault;
    this.retryAfterMs = retryAfterMs;
    this.unbilledJobId = unbilledJobId;
  }
}

/** The task can no longer succeed. */
export function permanentFailure(reason: FailureReason, fault?: InputFault): GenerationFailure {
  return new GenerationFailure(reason, { isPermanent: true, fault });
}

/** The same for a job that failed and is not billed. */
export function unbilledFailure(reason: FailureReason, jobId: string): GenerationFailure {
  return new GenerationFailure(reason, { isPermanent: true, unbilledJobId: jobId });
}

/** The same for an invalid field of the input. @param path of the field, as in the model's schema. */
export function invalidInput(kind: FaultKind, path: readonly string[]): GenerationFailure {
  return permanentFailure(reasonOfFault(kind), inputFault(kind, path.join('.')));
}

/** The attempt failed; another may well succeed, after `retryAfterMs` if that is known. */
export function retryableFailure(reason: FailureReason, retryAfterMs?: number): GenerationFailure {
  return new GenerationFailure(reason, { isPermanent: false, retryAfterMs });
}

/**
 * Logs that a provider failed work that it had accepted. Success without a file is a fault of the mapping or of the
 * provider, and not of the work: a warning.
 */
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
