/** The files of a video that clients can download. */
import type { VideoVariant } from '@darkroom/api/openai/videos';
import type { TaskDetail, TaskOutput } from '../../tasks/record/read.ts';
import type { HttpContext } from '../app/context.ts';
import { RequestError, invalidRequest } from '../app/errors.ts';
import { requireOutputs } from './outputs.ts';

/** @throws {RequestError} 404: the task has not made it, or it is gone; 400: no task makes it. */
export function requireVideoFile(http: HttpContext, task: TaskDetail, variant: VideoVariant): TaskOutput {
  if (variant === 'spritesheet') {
    const message = 'invalid request: variant: there are no sprite sheets; use video or thumbnail';
    throw invalidRequest(message, { param: 'variant', keyword: 'enum', code: 'unsupported_value' });
  }
  if (task.status === 'fail') {
    const message = 'the video has failed, so it has no content; its error says why';
    throw new RequestError('not_found', message, { code: 'video_failed' });
  }
  if (task.status !== 'success') {
    const message = `Video is not ready yet, use GET /v1/videos/${task.id} to check its status.`;
    throw new RequestError('not_found', message, { code: 'video_not_ready' });
  }
  const file = task.outputs.find(({ type }) => type === variant);
  if (file === undefined) {
    throw new RequestError('not_found', `the video has no ${variant}`, { param: 'variant', code: 'no_output' });
  }
  requireOutputs(http, { ...task, outputs: [file] });
  return file;
}
