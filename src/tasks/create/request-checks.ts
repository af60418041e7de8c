/**
 * The checks of a request beyond its form and its input: one rule a function, each with the message that names the
 * field (contract §1). A create rejects at the first one, an estimate lists them all.
 */
import { formatUsd, parseUsd } from '../../domain/money.ts';
import { checkUrl } from '../../egress/policy.ts';
import type { EgressPolicy } from '../../egress/policy.ts';
import { violation } from '@darkroom/api/facts/violation';
import type { Violation } from '@darkroom/api/facts/violation';
import type { CreateTaskBody } from '@darkroom/api/tasks/create-task';

/** Contract §2: https, and an address that is not literally private. Names are checked when connecting. */
export function findCallbackViolation(
  callback: CreateTaskBody['callback'],
  policy: EgressPolicy,
): Violation | undefined {
  if (callback === undefined) return undefined;
  const checked = checkUrl(callback.url, policy);
  return checked.ok ? undefined : violation('invalid request', 'callback.url', 'url', checked.problem);
}

/** Contract §2: at most the model's own limit. @param limitSeconds that of `handling`. */
export function findTimeoutViolation(timeoutSeconds: number | undefined, limitSeconds: number): Violation | undefined {
  if (timeoutSeconds === undefined || timeoutSeconds <= limitSeconds) return undefined;
  const problem = `maximum: got ${timeoutSeconds}, want ${limitSeconds}`;
  return violation('invalid request', 'timeoutSeconds', 'maximum', problem);
}

/** Contract §2: "refuse with 400 if the worst-case cost is above it". */
export function findMaxCostViolation(maxCost: string | undefined, worstCaseMicroUsd: bigint): Violation | undefined {
  const maxMicroUsd = maxCost === undefined ? undefined : parseUsd(maxCost);
  if (maxMicroUsd === undefined || worstCaseMicroUsd <= maxMicroUsd) return undefined;
  const problem = `the task can cost up to ${formatUsd(worstCaseMicroUsd)} USD, above ${maxCost}`;
  return violation('invalid request', 'maxCost', 'maxCost', problem);
}
