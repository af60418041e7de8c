/** Tasks of video models, found by their ids and presented as OpenAI's videos. */
import type { Video } from '@darkroom/api/openai/videos';
import type { ModelDefinition } from '../../catalogue/definition.ts';
import { fieldsSetFor } from '../../catalogue/openai-input.ts';
import { isTaskId } from '../../domain/workflow-ids.ts';
import { presentVideo } from '../../presenters/video.ts';
import { readVideoRecords } from '../../tasks/listing/list-videos.ts';
import { TaskNotFoundError, TaskPrunedError, readTask } from '../../tasks/record/read.ts';
import type { TaskDetail } from '../../tasks/record/read.ts';
import type { HttpContext } from '../app/context.ts';
import { RequestError } from '../app/errors.ts';
import { describeFailure } from './failure.ts';

export interface FoundVideo {
  readonly task: TaskDetail;
  readonly definition: ModelDefinition;
}

/** @throws {RequestError} 404: the account has no such video. @throws {TaskPrunedError} */
export async function findVideo(http: HttpContext, accountId: string, id: string | undefined): Promise<FoundVideo> {
  const task = await readOwnTask(http, accountId, id ?? '');
  const definition = task === undefined ? undefined : await http.definitions.read(task.definitionHash);
  if (task === undefined || definition?.modality !== 'video') throw noVideo();
  const record = (await readVideoRecords(http.database, accountId, [task.id], [])).get(task.id);
  if (record?.isErased !== false) throw noVideo();
  return { task, definition };
}

async function readOwnTask(http: HttpContext, accountId: string, id: string): Promise<TaskDetail | undefined> {
  if (!isTaskId(id)) return undefined;
  try {
    return await readTask(http.database, id, accountId);
  } catch (error) {
    if (error instanceof TaskNotFoundError && !(error instanceof TaskPrunedError)) return undefined;
    throw error;
  }
}

function noVideo(): RequestError {
  return new RequestError('not_found', 'there is no such video', { param: 'video_id', code: 'not_found' });
}

/** @param tasks those of video models. @returns them in their order. */
export async function presentVideos(
  http: HttpContext,
  accountId: string,
  tasks: readonly TaskDetail[],
): Promise<readonly Video[]> {
  const definitions = new Map<string, ModelDefinition>();
  for (const { definitionHash: hash } of tasks) definitions.set(hash, await http.definitions.read(hash));
  const members = [...definitions.values()].flatMap((definition) => fieldsSetFor(definition, 'videos'));
  const ids = tasks.map(({ id }) => id);
  const records = await readVideoRecords(http.database, accountId, ids, [...new Set(['prompt', ...members])]);
  return tasks.flatMap((task) => {
    const definition = definitions.get(task.definitionHash);
    if (definition === undefined) return [];
    return [
      presentVideo(task, { definition, input: records.get(task.id)?.input ?? null, error: errorOf(task, definition) }),
    ];
  });
}

export async function presentOneVideo(http: HttpContext, task: TaskDetail): Promise<Video> {
  const [video] = await presentVideos(http, task.accountId, [task]);
  if (video === undefined) throw new Error('a video was not presented');
  return video;
}

function errorOf(task: TaskDetail, definition: ModelDefinition): Video['error'] {
  if (task.status !== 'fail') return null;
  const { code, message } = describeFailure(task, { endpoint: 'videos', model: { definition } });
  return { code, message };
}
