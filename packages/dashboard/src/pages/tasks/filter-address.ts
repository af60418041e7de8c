/**
 * The filter of the list in the page's URL, as the API's parameters: a URL can be shared, and its query sent
 * to the API unchanged.
 */
import type { TaskStatus } from '@darkroom/api/facts/task-status';
import { filterParameters } from '../../api/tasks.ts';
import type { TaskFilter } from '../../api/tasks.ts';
import { texts as common } from '../../texts/common.ts';

const PAIR_PREFIX = 'metadata.';
/** Contract §2: "≤16 string pairs". */
export const MAX_PAIRS = 16;

export const STATUSES = Object.keys(common.status) as readonly TaskStatus[];

function isStatus(text: string): text is TaskStatus {
  return Object.hasOwn(common.status, text);
}

/** Invalid parameters are ignored: a URL may be mistyped. */
export function filterOf(search: URLSearchParams): TaskFilter {
  const pairs = [...search].filter(([name]) => name.startsWith(PAIR_PREFIX) && name.length > PAIR_PREFIX.length);
  return {
    statuses: search.getAll('status').join(',').split(',').filter(isStatus),
    model: search.get('model') || undefined,
    keyId: search.get('keyId') || undefined,
    createdAfter: secondsIn(search.get('created_after')),
    createdBefore: secondsIn(search.get('created_before')),
    metadata: Object.fromEntries(
      pairs.slice(0, MAX_PAIRS).map(([name, value]) => [name.slice(PAIR_PREFIX.length), value]),
    ),
  };
}

function secondsIn(text: string | null): number | undefined {
  return text !== null && /^\d{1,10}$/.test(text) ? Number(text) : undefined;
}

export function isFiltered(filter: TaskFilter): boolean {
  return Object.keys(filterParameters(filter)).length > 0;
}

/** The content of the search box. */
type Search =
  | { readonly by: 'id'; readonly taskId: string }
  | { readonly by: 'pair'; readonly key: string; readonly value: string };

/** @returns undefined if it is neither an id nor a pair. */
export function searchOf(text: string): Search | undefined {
  const sought = text.trim();
  if (/^tk-svc-\w+$/i.test(sought)) {
    return { by: 'id', taskId: `tk-svc-${sought.slice('tk-svc-'.length).toUpperCase()}` };
  }
  const [, key, value] = /^([^=]+)=(.*)$/s.exec(sought) ?? [];
  return key === undefined || value === undefined ? undefined : { by: 'pair', key: key.trim(), value: value.trim() };
}

/** Unix seconds in the format of `<input type="datetime-local">`: in the reader's time zone, to the minute. */
export function toLocalInput(seconds: number): string {
  const date = new Date(seconds * 1000);
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 16);
}

/** @returns Unix seconds; undefined if the value is incomplete. */
export function fromLocalInput(text: string): number | undefined {
  const ms = new Date(text).getTime();
  return Number.isNaN(ms) || ms < 0 ? undefined : Math.floor(ms / 1000);
}
