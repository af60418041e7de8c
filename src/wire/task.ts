/**
 * A task as its owner sees it (spec §2.4, contract §3): the `data` of `GET /tasks/{id}`, and the whole body of a
 * callback. URLs are signed here, that is, whenever a task is read.
 */
import { failureFace } from '../domain/failure-reason.ts';
import type { FailureReason } from '../domain/failure-reason.ts';
import { formatUsd } from '../domain/money.ts';
import type { TaskStatus } from '../domain/task-status.ts';
import { extensionFor } from '../files/signed-url.ts';
import type { UrlSigner } from '../files/signed-url.ts';
import type { TaskDetail, TaskOutput } from '../tasks/read.ts';

export interface WireOutput {
  readonly url: string;
  readonly type: string;
  /** Unix seconds. */
  readonly expireAt: number;
  readonly id: string;
  readonly mimeType: string;
  readonly sizeBytes: number;
  readonly width?: number;
  readonly height?: number;
  readonly durationSeconds?: number;
  readonly sha256: string;
  readonly storage: 'temp' | 'persistent';
  /** Unix seconds; 0 for persistent ones. */
  readonly retainUntil: number;
}

export interface WireTask {
  readonly taskId: string;
  readonly model: string;
  readonly route?: string;
  readonly status: TaskStatus;
  /** Unix seconds. */
  readonly created: number;
  /** 0 until handling began. */
  readonly started: number;
  /** 0 until terminal. */
  readonly completed: number;
  readonly storage: 'temp' | 'persistent';
  readonly keyId: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly output?: readonly WireOutput[];
  readonly outputGone?: readonly { id: string; type: string; goneAt: number; reason: 'deleted' | 'expired' }[];
  readonly error?: { code: string; message: string; reason?: string; retryable: boolean };
  /** Decimal USD. `held` is what was held at creation; once the task is over it equals captured plus released. */
  readonly billing: { currency: 'USD'; held: string; captured: string; released: string };
  readonly callback?: { state: string; attempts: number; nextAttempt: number };
}

/** Reasons of ours that are told by `error.code` alone: `error.reason` is a closed set (contract §3). */
const UNTOLD_REASONS: ReadonlySet<FailureReason> = new Set(['storage_unavailable', 'model_unavailable']);

/** Presents a task, signing a fresh URL for each output that is kept. */
export function presentTask(task: TaskDetail, signer: UrlSigner): WireTask {
  const captured = task.capturedMicroUsd;
  return {
    taskId: task.id,
    model: task.model,
    ...(task.route === null ? {} : { route: task.route }),
    status: task.status,
    created: task.createdAt,
    started: task.startedAt ?? 0,
    completed: task.completedAt ?? 0,
    storage: task.storage,
    keyId: task.keyId,
    ...(task.metadata === null ? {} : { metadata: task.metadata }),
    ...(task.status === 'success' ? presentOutputs(task, signer) : {}),
    ...(task.errorReason === null ? {} : { error: presentError(task.errorReason) }),
    billing: {
      currency: 'USD',
      held: formatUsd(task.heldMicroUsd),
      captured: formatUsd(captured ?? 0n),
      released: formatUsd(captured === null ? 0n : task.heldMicroUsd - captured),
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

function presentOutputs(task: TaskDetail, signer: UrlSigner): Pick<WireTask, 'output' | 'outputGone'> {
  const kept = task.outputs.filter((output) => output.goneAt === null);
  const gone = task.outputs.filter((output) => output.goneAt !== null);
  return {
    output: kept.map((output) => presentOutput(task.id, output, signer)),
    ...(gone.length === 0
      ? {}
      : {
          outputGone: gone.map((output) => ({
            id: output.id,
            type: output.type,
            goneAt: output.goneAt ?? 0,
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

function presentError(reason: FailureReason): NonNullable<WireTask['error']> {
  const { code, message, retryable } = failureFace(reason);
  return { code, message, ...(UNTOLD_REASONS.has(reason) ? {} : { reason }), retryable };
}
