/**
 * A task as its owner sees it (spec §2.4, contract §3): the `data` of `GET /tasks/{id}`, and the whole body of a
 * callback. URLs are signed here, that is, whenever a task is read.
 */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { failureFace } from '../domain/failure-reason.ts';
import type { FailureReason } from '../domain/failure-reason.ts';
import {
  FIELD_PATTERN,
  MAX_FIELD_LENGTH,
  faultMessage,
  inputFault,
  isFaultKind,
  reasonOfFault,
} from '../domain/input-fault.ts';
import type { InputFault } from '../domain/input-fault.ts';
import { formatUsd } from '../domain/money.ts';
import { TASK_STATUSES } from '../domain/task-status.ts';
import type { TaskStatus } from '../domain/task-status.ts';
import { extensionFor } from '../objects/urls/signed-url.ts';
import type { UrlSigner } from '../objects/urls/signed-url.ts';
import type { TaskDetail, TaskOutput } from '../tasks/record/read.ts';

const UnixSeconds = Type.Integer({ minimum: 0 });
const Usd = Type.String({ pattern: '^-?[0-9]+(\\.[0-9]{1,6})?$' });
const Tier = Type.Unsafe<'temp' | 'persistent'>({ type: 'string', enum: ['temp', 'persistent'] });

export const OutputSchema = Type.Object(
  {
    url: Type.String({ description: 'Downloadable without a key; GET and HEAD, with Range.' }),
    type: Type.String({ description: '`image video audio first_frame last_frame thumbnail`, an open set.' }),
    expireAt: Type.Integer({ minimum: 0, description: 'Unix seconds: when `url` stops working.' }),
    id: Type.String(),
    mimeType: Type.String(),
    sizeBytes: Type.Integer({ minimum: 0 }),
    width: Type.Optional(Type.Integer({ minimum: 1 })),
    height: Type.Optional(Type.Integer({ minimum: 1 })),
    durationSeconds: Type.Optional(Type.Number({ minimum: 0 })),
    sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }),
    storage: Tier,
    retainUntil: Type.Integer({ minimum: 0, description: 'Unix seconds; 0 for persistent ones.' }),
  },
  { additionalProperties: false },
);

/** The task detail. */
export const TaskSchema = Type.Object(
  {
    taskId: Type.String({ pattern: '^tk-svc-[0-9A-HJKMNP-TV-Z]{26}$' }),
    model: Type.String({ description: 'The resolved full name: `base`, or `base@route` for any other route.' }),
    route: Type.Optional(Type.String({ description: 'The route used; only for models that have several.' })),
    status: Type.Unsafe<TaskStatus>({ type: 'string', enum: [...TASK_STATUSES] }),
    created: UnixSeconds,
    started: Type.Integer({ minimum: 0, description: 'Unix seconds; 0 until handling began.' }),
    completed: Type.Integer({ minimum: 0, description: 'Unix seconds; 0 until terminal.' }),
    progress: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: 1,
        description: 'How much is done, in tenths, while it is being handled and where that is known.',
      }),
    ),
    storage: Tier,
    keyId: Type.String({ description: 'The key that created the task.' }),
    metadata: Type.Optional(
      Type.Unsafe<Readonly<Record<string, string>>>({ type: 'object', additionalProperties: { type: 'string' } }),
    ),
    input: Type.Optional(
      Type.Unsafe<Readonly<Record<string, unknown>> | null>({
        type: ['object', 'null'],
        description: 'Only with `include=input`: the input as sent; null once it was erased.',
      }),
    ),
    output: Type.Optional(Type.Array(OutputSchema, { description: 'Only on success.' })),
    outputGone: Type.Optional(
      Type.Array(
        Type.Object(
          {
            id: Type.String(),
            type: Type.String(),
            goneAt: UnixSeconds,
            reason: Type.Unsafe<'deleted' | 'expired'>({ type: 'string', enum: ['deleted', 'expired'] }),
          },
          { additionalProperties: false },
        ),
        { description: 'Outputs that were deleted or whose retention ended.' },
      ),
    ),
    error: Type.Optional(
      Type.Object(
        {
          code: Type.String({
            enum: [
              'TASK_FAILED',
              'TASK_TIMEOUT',
              'TASK_CANCELLED',
              'INVALID_REQUEST',
              'MODEL_UNAVAILABLE',
              'STORAGE_UNAVAILABLE',
            ],
          }),
          message: Type.String(),
          reason: Type.Optional(Type.String()),
          field: Type.Optional(
            Type.String({
              pattern: FIELD_PATTERN,
              maxLength: MAX_FIELD_LENGTH,
              description: 'The field of the input that could not be used: `image_urls.2`. Where that is known.',
            }),
          ),
          retryable: Type.Boolean({ description: 'Whether the same request may well succeed as a new task.' }),
        },
        { additionalProperties: false, description: 'Only on fail.' },
      ),
    ),
    billing: Type.Object(
      { currency: Type.Literal('USD'), held: Usd, captured: Usd, released: Usd },
      {
        additionalProperties: false,
        description:
          'Decimal USD. `held` is what was held at creation; once the task is over it equals captured plus released.',
      },
    ),
    callback: Type.Optional(
      Type.Object(
        {
          state: Type.String({ enum: ['waiting', 'pending', 'delivered', 'exhausted', 'stopped'] }),
          attempts: Type.Integer({ minimum: 0 }),
          nextAttempt: Type.Integer({ minimum: 0, description: 'Unix seconds; 0 where none is due.' }),
        },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false },
);

export type WireTask = Static<typeof TaskSchema>;
type WireOutput = Static<typeof OutputSchema>;

/** `error.reason` is a closed set (contract §3): its reason for one of ours; none, where `error.code` says it. */
function toldReason(reason: FailureReason): FailureReason | undefined {
  if (reason === 'storage_unavailable') return undefined;
  return reason === 'model_unavailable' ? 'provider_unavailable' : reason;
}

/**
 * Presents a task, signing a fresh URL for each output that is kept.
 *
 * @param now milliseconds since 1970: an output whose retention has ended by then is gone.
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
  const isGone = ({ goneAt, retainUntil }: TaskOutput): boolean =>
    goneAt !== null || (retainUntil !== null && retainUntil * 1000 <= now);
  const kept = task.outputs.filter((output) => !isGone(output));
  const gone = task.outputs.filter(isGone);
  return {
    output: kept.map((output) => presentOutput(task.id, output, signer)),
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
  const told = toldReason(reason);
  const fault = faultFor(task, reason);
  return {
    code,
    message: fault === undefined ? message : faultMessage(fault),
    ...(told === undefined ? {} : { reason: told }),
    ...(fault?.field === undefined ? {} : { field: fault.field }),
    retryable,
  };
}

/** What was wrong with the input, if the task failed for exactly that: another attempt may have ended differently. */
function faultFor({ errorCase, errorField }: TaskDetail, reason: FailureReason): InputFault | undefined {
  if (!isFaultKind(errorCase) || reasonOfFault(errorCase) !== reason) return undefined;
  return inputFault(errorCase, errorField ?? undefined);
}
