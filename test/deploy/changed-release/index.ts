/**
 * The workflows of a release whose tasks cannot continue on another one: its `mediaTask` waits for a timer before
 * everything else. Only for tests of worker versions.
 */
import { setWorkflowOptions, sleep } from '@temporalio/workflow';
import * as ours from '../../../workflows/index.ts';

export * from '../../../workflows/index.ts';

type MediaTask = typeof ours.mediaTask;

export async function mediaTask(...args: Parameters<MediaTask>): ReturnType<MediaTask> {
  await sleep(1);
  return ours.mediaTask(...args);
}

setWorkflowOptions({ versioningBehavior: 'PINNED' }, mediaTask);
