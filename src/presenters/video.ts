/** A task of a video model as OpenAI's video object (contract §10). */
import type { Video } from '@darkroom/api/openai/videos';
import type { ModelDefinition } from '../catalogue/definition.ts';
import { requestedValueOf } from '../catalogue/openai-input.ts';
import type { TaskStatus } from '@darkroom/api/facts/task-status';
import { isTaskId } from '../domain/workflow-ids.ts';
import type { TaskDetail, TaskOutput } from '../tasks/record/read.ts';

/** The name of the metadata that says of a task which video it is a remix of. */
export const REMIXED_FROM = 'remixed_from_video_id';

const STATUSES: Readonly<Record<TaskStatus, Video['status']>> = {
  queued: 'queued',
  handling: 'in_progress',
  archiving: 'in_progress',
  success: 'completed',
  fail: 'failed',
};

/** What is shown of a task beside its detail. */
export interface VideoFacts {
  readonly definition: ModelDefinition;
  /** What the rules for videos set of the input; null: it was erased. */
  readonly input: Readonly<Record<string, unknown>> | null;
  /** Why it failed; undefined: it did not. */
  readonly error: Video['error'];
}

export function presentVideo(task: TaskDetail, { definition, input, error }: VideoFacts): Video {
  const file = videoOf(task);
  const requested = (field: string): string | null => {
    const value = input === null ? undefined : requestedValueOf(definition, 'videos', field, input);
    return value === undefined ? null : String(value);
  };
  const source = task.metadata?.[REMIXED_FROM] ?? '';
  return {
    id: task.id,
    object: 'video',
    model: task.model,
    status: STATUSES[task.status],
    progress: progressOf(task),
    created_at: task.createdAt,
    completed_at: task.completedAt,
    expires_at: file?.retainUntil ?? null,
    prompt: requested('prompt') ?? promptOf(input),
    seconds: secondsOf(file) ?? requested('seconds'),
    size: sizeOf(file) ?? requested('size'),
    remixed_from_video_id: isTaskId(source) ? source : null,
    error,
  };
}

/** The video that a task has made: its first one. */
export function videoOf({ outputs }: TaskDetail): TaskOutput | undefined {
  return outputs.find(({ type }) => type === 'video');
}

/** While files are archived the model has done its part. */
function progressOf({ status, progress }: TaskDetail): number {
  if (status === 'success') return 100;
  return status === 'archiving' ? 99 : Math.round(progress ?? 0);
}

/** Of a model without rules for videos. */
function promptOf(input: VideoFacts['input']): string | null {
  const prompt = input?.['prompt'];
  return typeof prompt === 'string' ? prompt : null;
}

function secondsOf(file: TaskOutput | undefined): string | undefined {
  return file?.durationSeconds == null ? undefined : String(Math.round(file.durationSeconds));
}

function sizeOf(file: TaskOutput | undefined): string | undefined {
  return file?.width == null ? undefined : `${file.width}x${file.height}`;
}
