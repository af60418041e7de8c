/**
 * Reads the results of one run of a task's workflow from its history: results of its activities, regular and local,
 * and how it closed.
 */
import { defaultPayloadConverter } from '@temporalio/common';
import type { Payload } from '@temporalio/common';
import type { WorkflowHandle } from '@temporalio/client';
import { isFailureReason } from '../domain/failure-reason.ts';
import { TASK_NOT_FOUND } from '../domain/run-record.ts';
import type { RunOutcome, RunRecord, StoredFile, UpstreamJob } from '../domain/run-record.ts';

type History = Awaited<ReturnType<WorkflowHandle['fetchHistory']>>;
type HistoryEvent = NonNullable<History['events']>[number];
type Payloads = { readonly payloads?: readonly Payload[] | null } | null | undefined;
type Fields = Readonly<Record<string, unknown>>;

/** Derived from an output that has its own file, and not requested from any provider. */
const DERIVED_TYPES: readonly unknown[] = ['first_frame', 'last_frame', 'thumbnail'];

/** The name under which the SDK records local activities. */
const LOCAL_ACTIVITY = 'core_local_activity';

/** The activities whose failure is the task's failure. */
const WORK: readonly string[] = ['submitGeneration', 'awaitGeneration', 'archiveOutputs'];

/** The results of activities by name, the last result of each. */
type Results = ReadonlyMap<string, Fields>;

export function readRunHistory({ events }: History): RunRecord {
  const [first] = events ?? [];
  const everyName = namesOf(events ?? []);
  const all = afterFailedJobs(events ?? [], everyName);
  const names = namesOf(all);
  const results = resultsOf(all, names);
  const input = fieldsOf(first?.workflowExecutionStartedEventAttributes?.input);
  const submitted = results.get('submitGeneration') ?? {};
  const files =
    archivedFiles(results.get('archiveOutputs')) ?? filesOf(results.get('awaitGeneration')) ?? filesOf(submitted);
  const sent = sentBeforeLoss(all, names);
  return {
    outcome: outcomeOf(all, names, results),
    files,
    job: jobOf(submitted),
    mayHaveSubmitted: mayHaveSubmitted(all, names, submitted, sent),
    upstreamIndex: numberOf(submitted['upstreamIndex']) ?? sent?.upstreamIndex,
    hasBegun: [...everyName.values()].includes('submitGeneration'),
    requestHash: textOf(submitted['requestHash']) ?? textOf(input['requestHash']),
    earlierRunId: textOf(input['earlierRunId']),
  };
}

/** The events since the last job that failed and is not billed: what the task had until then, it does not have any more. */
function afterFailedJobs(events: readonly HistoryEvent[], names: ReadonlyMap<string, string>): readonly HistoryEvent[] {
  const last = events.findLastIndex(({ activityTaskCompletedEventAttributes: completed }) => {
    if (completed == null || names.get(String(completed.scheduledEventId)) !== 'awaitGeneration') return false;
    return fieldsOf(completed.result)['kind'] === 'failed';
  });
  return events.slice(last + 1);
}

/** The names of activities, by the event that scheduled them. */
function namesOf(events: readonly HistoryEvent[]): ReadonlyMap<string, string> {
  return new Map(
    events.flatMap(({ eventId, activityTaskScheduledEventAttributes: scheduled }) =>
      scheduled == null ? [] : [[String(eventId), scheduled.activityType?.name ?? '']],
    ),
  );
}

function resultsOf(events: readonly HistoryEvent[], names: ReadonlyMap<string, string>): Results {
  const results = new Map<string, Fields>();
  for (const event of events) {
    const { activityTaskCompletedEventAttributes: completed } = event;
    if (completed != null) results.set(names.get(String(completed.scheduledEventId)) ?? '', fieldsOf(completed.result));
    const marker = event.markerRecordedEventAttributes;
    if (marker?.markerName !== LOCAL_ACTIVITY || marker.failure != null) continue;
    const name = textOf(fieldsOf(marker.details?.['data'])['activity_type']);
    if (name !== undefined) results.set(name, fieldsOf(marker.details?.['result']));
  }
  return results;
}

/**
 * From how the run closed. If it was ended from outside, from the settlement that it had made; if it had no task left
 * to settle, from the failure of its work.
 */
function outcomeOf(
  events: readonly HistoryEvent[],
  names: ReadonlyMap<string, string>,
  results: Results,
): RunOutcome | undefined {
  const last = events.at(-1);
  if (last?.workflowExecutionCompletedEventAttributes != null) return { status: 'success' };
  if (last?.workflowExecutionCanceledEventAttributes != null) return failed('cancelled', results);
  const failure = last?.workflowExecutionFailedEventAttributes?.failure?.applicationFailureInfo;
  if (failure?.type === TASK_NOT_FOUND) return failed(failureOf(events, names), results);
  if (failure != null) return failed(failure.type, results);
  const { status, reason } = results.get('settleTask') ?? settledBy(results.get('archiveOutputs')) ?? {};
  return status === 'success' ? { status } : failed(reason, results);
}

function failureOf(events: readonly HistoryEvent[], names: ReadonlyMap<string, string>): unknown {
  for (const { activityTaskFailedEventAttributes: attributes } of events) {
    const type = attributes?.failure?.applicationFailureInfo?.type;
    if (WORK.includes(names.get(String(attributes?.scheduledEventId)) ?? '') && isFailureReason(type)) return type;
  }
  return undefined;
}

function failed(reason: unknown, results: Results): RunOutcome | undefined {
  if (!isFailureReason(reason)) return undefined;
  if (reason !== 'cancelled') return { status: 'fail', reason };
  const stopped = results.get('cancelGeneration') ?? {};
  const [billedUsd, finishedFiles] = [textOf(stopped['billedUsd']), numberOf(stopped['finishedFiles'])];
  return {
    status: 'fail',
    reason,
    ...(billedUsd === undefined ? {} : { billedUsd }),
    ...(finishedFiles === undefined ? {} : { finishedFiles }),
  };
}

function mayHaveSubmitted(
  events: readonly HistoryEvent[],
  names: ReadonlyMap<string, string>,
  submitted: Fields,
  sent: Sent | undefined,
): boolean {
  const { kind } = submitted;
  // A submit that joined the queue of its upstream has sent nothing; the next one may have, without having been
  // answered.
  if (kind !== undefined && (kind !== 'waiting' || isLastSubmitAnswered(events, names))) {
    return kind === 'produced' || kind === 'job';
  }
  const wasScheduled = [...names.values()].includes('submitGeneration');
  // An attempt that found no task in the database states whether an earlier one had sent the work.
  return wasScheduled && (sent === undefined || sent.upstreamIndex !== undefined);
}

function isLastSubmitAnswered(events: readonly HistoryEvent[], names: ReadonlyMap<string, string>): boolean {
  const [last] = [...names].filter(([, name]) => name === 'submitGeneration').at(-1) ?? [];
  return events.some((event) => String(event.activityTaskCompletedEventAttributes?.scheduledEventId) === last);
}

interface Sent {
  readonly upstreamIndex: number | undefined;
}

/** What the attempt stated that found the task missing; undefined: there was none. */
function sentBeforeLoss(events: readonly HistoryEvent[], names: ReadonlyMap<string, string>): Sent | undefined {
  for (const { activityTaskFailedEventAttributes: attributes } of events) {
    if (names.get(String(attributes?.scheduledEventId)) !== 'submitGeneration') continue;
    const failure = attributes?.failure?.applicationFailureInfo;
    if (failure?.type === TASK_NOT_FOUND)
      return { upstreamIndex: numberOf(fieldsOf(failure.details)['upstreamIndex']) };
  }
  return undefined;
}

function jobOf({ kind, jobId, upstreamIndex }: Fields): UpstreamJob | undefined {
  const [id, index] = [textOf(jobId), numberOf(upstreamIndex)];
  return kind !== 'job' || id === undefined || index === undefined ? undefined : { jobId: id, upstreamIndex: index };
}

function filesOf(answer: Fields | undefined): readonly StoredFile[] | undefined {
  return storedFiles(answer?.['files'], 'key');
}

/** How the archiving settled the task. */
function settledBy(answer: Fields | undefined): Fields | undefined {
  const settled = answer?.['settled'];
  return typeof settled === 'object' && settled !== null ? (settled as Fields) : undefined;
}

function archivedFiles(answer: Fields | undefined): readonly StoredFile[] | undefined {
  const outputs = answer?.['outputs'];
  if (!Array.isArray(outputs)) return undefined;
  const made = (outputs as readonly Fields[]).filter(({ type }) => !DERIVED_TYPES.includes(type));
  return storedFiles(made, 'objectKey');
}

/** @returns undefined: there are none, or one of them has missing fields. */
function storedFiles(list: unknown, keyName: string): readonly StoredFile[] | undefined {
  if (!Array.isArray(list) || list.length === 0) return undefined;
  const files = (list as readonly Fields[]).flatMap((file): StoredFile[] => {
    const [key, sizeBytes, sha256] = [textOf(file[keyName]), numberOf(file['sizeBytes']), textOf(file['sha256'])];
    return key === undefined || sizeBytes === undefined || sha256 === undefined ? [] : [{ key, sizeBytes, sha256 }];
  });
  return files.length === list.length ? files : undefined;
}

/** The first payload as an object; an empty object if it is not one. */
function fieldsOf(payloads: Payloads): Fields {
  const [payload] = payloads?.payloads ?? [];
  if (payload == null) return {};
  const value: unknown = defaultPayloadConverter.fromPayload(payload);
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}
