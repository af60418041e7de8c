/**
 * A task's timeline as its owner sees it (contract §4): a list, or a stream of server-sent events whose `data` is one
 * event of that list.
 */
import type { TaskEvent } from '../tasks/record/timeline.ts';
import type { Static } from 'typebox';
import type { EventSchema } from '@darkroom/api/tasks/event';

export function presentEvent({ seq, at, type, detail }: TaskEvent): Static<typeof EventSchema> {
  return { seq, at, type, detail: detail ?? {} };
}
