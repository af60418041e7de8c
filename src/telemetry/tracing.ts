/**
 * Traces (OpenTelemetry; off unless a collector is configured). The trace of a task is derived from its id alone: all
 * work for a task, in any process and after any crash, is recorded in the same trace, and nothing has to be passed
 * through Temporal or the database. Its root is the request that created it.
 *
 * Spans are recorded when they are over. Attributes are names, counts and members of closed lists: never prompts,
 * URLs or messages of a provider.
 */
import type { TaskId } from '../domain/workflow-ids.ts';

export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** Finished work, from `startedAt` (milliseconds since 1970) until now. */
export interface DoneWork {
  readonly name: string;
  readonly startedAt: number;
  readonly attributes: SpanAttributes;
  /** The reason of the failure, from a closed list; undefined: no failure. */
  readonly failure?: string | undefined;
}

/** A request that was answered. */
export interface AnsweredRequest extends DoneWork {
  /** The task that it concerned. */
  readonly taskId?: TaskId | undefined;
  /** Whether it created the task: then it is the root of the task's trace. */
  readonly isCreation?: boolean;
  /** The client's `traceparent`, as received. */
  readonly traceparent?: string | undefined;
}

export interface Tracing {
  /** Work for a task outside a request. */
  task(taskId: TaskId, work: DoneWork): void;
  request(request: AnsweredRequest): void;
  /** Sends the remaining spans, for a few seconds at most. */
  close(): Promise<void>;
}

/** The implementation for a process without tracing. */
export const NO_TRACES: Tracing = { task: () => undefined, request: () => undefined, close: () => Promise.resolve() };
