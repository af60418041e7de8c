/**
 * What a list of tasks can be filtered by, how far it reaches (contract §3), and which of its filters can lead.
 */
import type { TaskStatus } from '@darkroom/api/facts/task-status';
import { TASK_STATUSES } from '@darkroom/api/facts/task-status';

/** Which tasks are requested; an absent field does not restrict them. All fields that are present must match. */
export interface TaskFilter {
  readonly statuses?: readonly TaskStatus[];
  /** The resolved full name. */
  readonly model?: string;
  readonly keyId?: string;
  readonly ids?: readonly string[];
  /** Each name with the value that it must have. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** Unix seconds. Both are exclusive, and compared with the time as the detail shows it: in whole seconds. */
  readonly createdAfter?: number;
  readonly createdBefore?: number;
}

/** A filter whose index is walked; the other filters are checked for each task on the way. */
export type Lead =
  | { readonly by: 'account' }
  | { readonly by: 'ids'; readonly ids: readonly string[] }
  | { readonly by: 'metadata'; readonly name: string; readonly value: string }
  | { readonly by: 'key'; readonly keyId: string }
  | { readonly by: 'model'; readonly model: string }
  | { readonly by: 'status'; readonly statuses: readonly TaskStatus[] };

/** The same filter in its one normal form: nothing twice, nothing that is always true. */
export function normalised({ statuses, ids, metadata, ...filter }: TaskFilter): TaskFilter {
  const wanted = TASK_STATUSES.filter((status) => statuses?.includes(status) ?? true);
  const pairs = Object.entries(metadata ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return {
    ...filter,
    ...(wanted.length === TASK_STATUSES.length ? {} : { statuses: wanted }),
    ...(ids === undefined ? {} : { ids: [...new Set(ids)].toSorted() }),
    // `fromEntries` defines: a pair named `__proto__` stays a pair.
    ...(pairs.length === 0 ? {} : { metadata: Object.fromEntries(pairs) }),
  };
}

/**
 * The leads that a filter offers, those first that usually have few tasks; at least one. Most tasks succeed, most
 * accounts use few keys and models, and open or failed tasks are rare.
 */
export function leadsOf({ ids, metadata, keyId, model, statuses }: TaskFilter): readonly [Lead, ...Lead[]] {
  // At most a hundred tasks: no other lead can be better.
  if (ids !== undefined) return [{ by: 'ids', ids }];
  const byStatus: readonly Lead[] = statuses === undefined ? [] : [{ by: 'status', statuses }];
  const isRare = statuses?.includes('success') === false;
  const [first, ...others]: Lead[] = [
    ...Object.entries(metadata ?? {}).map(([name, value]) => ({ by: 'metadata' as const, name, value })),
    ...(isRare ? byStatus : []),
    ...(keyId === undefined ? [] : [{ by: 'key' as const, keyId }]),
    ...(model === undefined ? [] : [{ by: 'model' as const, model }]),
    ...(isRare ? [] : byStatus),
  ];
  return first === undefined ? [{ by: 'account' }] : [first, ...others];
}
