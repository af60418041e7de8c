/**
 * What is wrong with the task of a request, as an error that OpenAI's clients branch on: status, `code`, `param` with
 * the name of the request's field, and whether they try again.
 */
import { endpointFieldOf } from '../../catalogue/openai-input.ts';
import type { ErrorKind } from '@darkroom/api/facts/error-kinds';
import { failureFace } from '../../domain/failure-reason.ts';
import type { FailureReason } from '../../domain/failure-reason.ts';
import { faultMessage, inputFault, isFaultKind, reasonOfFault } from '@darkroom/api/facts/input-fault';
import { openAiCodeOf } from '../../schema/openai-parse.ts';
import { InvalidTaskError } from '../../tasks/create/create.ts';
import type { TaskDetail } from '../../tasks/record/read.ts';
import { RequestError } from '../app/errors.ts';
import type { MediaCall } from './create.ts';

interface FailureFacts {
  readonly kind: ErrorKind;
  readonly code: string;
  /** False: a client that repeats failed requests by itself is not to repeat this one. */
  readonly isRetried?: false;
}

/** Nothing was charged, so a client may repeat the request by itself, unless that costs much or changes nothing. */
const FACTS: Readonly<Record<FailureReason, FailureFacts>> = {
  content_rejected: { kind: 'invalid_request', code: 'moderation_blocked' },
  input_unreachable: { kind: 'invalid_request', code: 'input_unreachable' },
  input_invalid: { kind: 'invalid_request', code: 'invalid_value' },
  provider_unavailable: { kind: 'unavailable', code: 'provider_unavailable' },
  provider_error: { kind: 'unavailable', code: 'provider_error' },
  no_output: { kind: 'unavailable', code: 'no_output' },
  outcome_unknown: { kind: 'unavailable', code: 'outcome_unknown', isRetried: false },
  timed_out: { kind: 'unavailable', code: 'timeout', isRetried: false },
  cancelled: { kind: 'invalid_request', code: 'task_cancelled' },
  terminated: { kind: 'unavailable', code: 'terminated', isRetried: false },
  storage_unavailable: { kind: 'unavailable', code: 'storage_unavailable' },
  model_unavailable: { kind: 'unavailable', code: 'model_unavailable', isRetried: false },
};

export type FieldNames = Pick<MediaCall, 'endpoint' | 'fieldOf'> & {
  readonly model: Pick<MediaCall['model'], 'definition'>;
};

/**
 * The field of a request that a field of the input follows from.
 *
 * @param own `image_urls.0` belongs to `image_urls`, and is `images.0` where the request has a list of the same
 *   members.
 */
function requestFieldOf({ endpoint, model, fieldOf = {} }: FieldNames, own: string): string | undefined {
  const [first = '', ...rest] = own.split('.');
  if (!Object.hasOwn(fieldOf, first)) return endpointFieldOf(model.definition, endpoint, own);
  return fieldOf[first] === 'images' ? ['images', ...rest].join('.') : fieldOf[first];
}

/** An error about the input, with the name that its field has in the request. */
export function inFieldsOf<Failure>(call: FieldNames, error: Failure): Failure | RequestError {
  if (!(error instanceof InvalidTaskError) || !error.param.startsWith('input.')) return error;
  const { keyword, valueKind } = error;
  const own = error.param.slice('input.'.length);
  const field = requestFieldOf(call, own);
  if (field === undefined) return error;
  const message = error.message.replace(`invalid input: ${own}:`, `invalid request: ${field}:`);
  return new RequestError('invalid_request', message, {
    param: field,
    keyword,
    code: openAiCodeOf({ keyword, valueKind }),
    cause: error,
  });
}

/** The kind of the error that a failed task is. */
export function failureKind(task: TaskDetail): ErrorKind {
  return FACTS[reasonOf(task)].kind;
}

/** @param task one that has failed. */
export function failureOf(task: TaskDetail, call: FieldNames): RequestError {
  const { kind, isRetried = true } = FACTS[reasonOf(task)];
  const { code, message, param } = describeFailure(task, call);
  return new RequestError(kind, message, { code, param, headers: isRetried ? {} : { 'x-should-retry': 'false' } });
}

/** Why a task has failed, in OpenAI's words, and the field of the request at fault. */
export function describeFailure(
  task: TaskDetail,
  call: FieldNames,
): { readonly code: string; readonly message: string; readonly param: string | undefined } {
  const reason = reasonOf(task);
  const param = task.errorField === null ? undefined : requestFieldOf(call, task.errorField);
  const message =
    isFaultKind(task.errorCase) && reasonOfFault(task.errorCase) === reason
      ? faultMessage(inputFault(task.errorCase, param ?? task.errorField ?? undefined))
      : failureFace(reason).message;
  return { code: FACTS[reason].code, message, param };
}

function reasonOf({ errorReason }: TaskDetail): FailureReason {
  return errorReason ?? 'provider_error';
}
