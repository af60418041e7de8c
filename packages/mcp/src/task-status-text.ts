import type { WireTask } from '@darkroom/api/tasks/task';

/** `handling 40%`. */
export function statusOf({ status, progress }: WireTask): string {
  return progress === undefined ? status : `${status} ${Math.floor(progress * 100)}%`;
}
