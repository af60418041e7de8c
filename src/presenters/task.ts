/**
 * A task as its owner sees it (spec §2.4, contract §3, §4): its detail, which is also the whole body of a callback, its
 * timeline, its input, and the estimate before it is created. URLs are signed here, that is, whenever a task is read.
 */
import type { WireEstimate } from '@darkroom/api/tasks/estimate';
import type { EventSchema } from '@darkroom/api/tasks/event';
import type { WireOutput, WireTask } from '@darkroom/api/tasks/task';
import type { Static } from 'typebox';
import { formatDecimal, formatUsd } from '../domain/money.ts';
import { failureFace } from '../domain/failure-reason.ts';
import type { FailureReason } from '../domain/failure-reason.ts';
import { faultMessage, inputFault, isFaultKind, reasonOfFault } from '@darkroom/api/facts/input-fault';
import type { InputFault } from '@darkroom/api/facts/input-fault';
import { referencedId } from '../objects/urls/signed-url.ts';
import type { UrlSigner } from '../objects/urls/signed-url.ts';
import type { Estimate } from '../tasks/create/estimate.ts';
import { isOutputGone } from '../tasks/record/read.ts';
import type { TaskDetail, TaskOutput } from '../tasks/record/read.ts';
import type { TaskEvent } from '../tasks/record/timeline.ts';
import { extensionFor } from '@darkroom/media/media-types';

/**
 * `error.reason` is a closed set (contract §3): the reason of one of our failures; none if `error.code` already states
 * it.
 */
function publicReason(reason: FailureReason): FailureReason | undefined {
  if (reason === 'storage_unavailable') return undefined;
  return reason === 'model_unavailable' ? 'provider_unavailable' : reason;
}

/**
 * Presents a task, signing a fresh URL for each stored output.
 *
 * @param now milliseconds since 1970: an output whose retention has ended by then counts as deleted.
 */
export function presentTask(task: TaskDetail, signer: UrlSigner, now: number): WireTask {
  const captured = task.capturedMicroUsd;
  return {
    taskId: task.id,
    model: task.model,
    ...(task.route === null ? {} : { route: task.route }),
    status: task.status,
    created: task.createdAt,
    started: task.startedAt ?? 0,
    ...(task.progress === null ? {} : { progress: task.progress / 100 }),
    completed: task.completedAt ?? 0,
    storage: task.storage,
    keyId: task.keyId,
    ...(task.metadata === null ? {} : { metadata: task.metadata }),
    ...(task.status === 'success' ? presentOutputs(task, signer, now) : {}),
    ...(task.errorReason === null ? {} : { error: presentError(task, task.errorReason) }),
    billing: {
      currency: 'USD',
      held: formatUsd(task.heldMicroUsd),
      captured: formatUsd(captured ?? 0n),
      released: formatUsd(captured === null ? 0n : task.heldMicroUsd - captured),
      ...(task.priceFactor === null ? {} : { priceFactor: task.priceFactor }),
    },
    ...(task.callback === null
      ? {}
      : {
          callback: {
            state: task.callback.state,
            attempts: task.callback.attempts,
            nextAttempt: task.callback.nextAttemptAt ?? 0,
          },
        }),
  };
}

function presentOutputs(task: TaskDetail, signer: UrlSigner, now: number): Pick<WireTask, 'output' | 'outputGone'> {
  const stored = task.outputs.filter((output) => !isOutputGone(output, now));
  const gone = task.outputs.filter((output) => isOutputGone(output, now));
  return {
    output: stored.map((output) => presentOutput(task.id, output, signer)),
    ...(gone.length === 0
      ? {}
      : {
          outputGone: gone.map((output) => ({
            id: output.id,
            type: output.type,
            goneAt: output.goneAt ?? output.retainUntil ?? 0,
            reason: output.goneReason ?? 'expired',
          })),
        }),
  };
}

function presentOutput(taskId: string, output: TaskOutput, signer: UrlSigner): WireOutput {
  const fileName = outputFileName(taskId, output);
  const { url, expireAt } = signer.sign({ outputId: output.id, fileName });
  return {
    url,
    type: output.type,
    expireAt,
    id: output.id,
    mimeType: output.mimeType,
    sizeBytes: output.sizeBytes,
    ...(output.width === null ? {} : { width: output.width }),
    ...(output.height === null ? {} : { height: output.height }),
    ...(output.durationSeconds === null ? {} : { durationSeconds: output.durationSeconds }),
    sha256: output.sha256,
    storage: output.storageTier,
    retainUntil: output.retainUntil ?? 0,
  };
}

/** `<taskId>-<n>.<ext>`, n from 1 (contract §3). */
export function outputFileName(taskId: string, output: { position: number; mimeType: string }): string {
  return `${taskId}-${output.position + 1}.${extensionFor(output.mimeType)}`;
}

function presentError(task: TaskDetail, reason: FailureReason): NonNullable<WireTask['error']> {
  const { code, message, retryable } = failureFace(reason);
  const shown = publicReason(reason);
  const fault = faultFor(task, reason);
  return {
    code,
    message: fault === undefined ? message : faultMessage(fault),
    ...(shown === undefined ? {} : { reason: shown }),
    ...(fault?.field === undefined ? {} : { field: fault.field }),
    retryable,
  };
}

/** What was wrong with the input, if the task failed for exactly that: another attempt may have ended differently. */
function faultFor({ errorCase, errorField }: TaskDetail, reason: FailureReason): InputFault | undefined {
  if (!isFaultKind(errorCase) || reasonOfFault(errorCase) !== reason) return undefined;
  return inputFault(errorCase, errorField ?? undefined);
}

/** An event of the timeline, in the list and as the `data` of a server-sent event. */
export function presentEvent({ seq, at, type, detail }: TaskEvent): Static<typeof EventSchema> {
  return { seq, at, type, detail: detail ?? {} };
}

/**
 * A stored input as its owner sent it (`?include=input`): references to objects of ours become URLs again.
 *
 * @returns a copy.
 */
export function presentInput(input: Readonly<Record<string, unknown>>, signer: UrlSigner): Record<string, unknown> {
  const present = (value: unknown): unknown => {
    if (typeof value === 'string') {
      const outputId = referencedId(value);
      return outputId === undefined ? value : signer.sign({ outputId, fileName: outputId }).url;
    }
    if (Array.isArray(value)) return value.map(present);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, present(member)]));
  };
  return present(input) as Record<string, unknown>;
}

/** The response of `POST /tasks/estimate`: money as decimal USD, null where an error makes a price impossible. */
export function presentEstimate({ quote, pricing, violations, ...estimate }: Estimate): WireEstimate {
  return {
    maxCost: quote === undefined ? null : formatUsd(quote.costMicroUsd),
    currency: 'USD',
    breakdown:
      quote === undefined || pricing === undefined
        ? []
        : [
            {
              unit: pricing.unit,
              quantity: formatDecimal(quote.quantity),
              unitPrice: formatDecimal(quote.unitUsd),
              factors: quote.factors.map(({ field, value, factor }) => ({ field, value, factor })),
              amount: formatUsd(quote.costMicroUsd),
            },
          ],
    model: estimate.model ?? null,
    route: estimate.route ?? null,
    balanceSufficient: estimate.isBalanceSufficient ?? null,
    errors: violations.map(({ message }) => message),
    violations: violations.map(({ message, problem, field, keyword }) => ({
      message,
      ...(problem === undefined ? {} : { problem }),
      field,
      keyword,
    })),
  };
}
