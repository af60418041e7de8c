/**
 * The requests for both accounts, the small one and the large one. `tasks` is how many tasks each response must
 * contain, at any size, so that only the number of rows differs.
 */
import { encodeCursor } from '../../../src/http/app/cursor.ts';
import { RARE_KEY } from './rows.ts';
import type { Sample } from './rows.ts';

export interface ListRequest {
  readonly name: string;
  readonly tasks: number;
  path(sample: Sample): string;
}

const list = (name: string, query: string, tasks = 10): ListRequest => ({
  name,
  tasks,
  path: () => `/v1/tasks?${query}`,
});

/** Each has to cost about as much as in the small account. */
export const REQUESTS: readonly ListRequest[] = [
  { name: 'GET one task', tasks: 1, path: ({ taskIds }) => `/v1/tasks/${taskIds[1]}` },
  list('page 1', ''),
  list('page 1 of 100', 'size=100', 100),
  list('page 9 of 100', 'size=100&page=9', 100),
  { name: 'cursor, middle', tasks: 10, path: ({ middle }) => `/v1/tasks?cursor=${encodeCursor(middle)}` },
  {
    name: 'cursor, of 100',
    tasks: 100,
    path: ({ middle }) => `/v1/tasks?size=100&cursor=${encodeCursor(middle)}`,
  },
  list('status=success', 'status=success'),
  list('status=fail', 'status=fail'),
  list('status=handling', 'status=handling'),
  list('status=queued,fail', 'status=queued,fail'),
  {
    name: 'status, cursor',
    tasks: 10,
    path: ({ middle }) => `/v1/tasks?status=success&cursor=${encodeCursor(middle)}`,
  },
  list('model, frequent', 'model=bench/swatch'),
  list('model, rare', 'model=bench/rare'),
  list('model, none', 'model=bench/none', 0),
  {
    name: 'model, cursor',
    tasks: 10,
    path: ({ middle }) => `/v1/tasks?model=bench/swatch&cursor=${encodeCursor(middle)}`,
  },
  { name: 'keyId, frequent', tasks: 10, path: ({ keyId }) => `/v1/tasks?keyId=${keyId}` },
  list('keyId, rare', `keyId=${RARE_KEY}`),
  list('metadata, frequent', 'metadata.environment=production'),
  list('metadata, rare', 'metadata.campaign=spring'),
  { name: 'ids', tasks: 100, path: ({ hundred }) => `/v1/tasks?size=100&ids=${hundred.join(',')}` },
  {
    name: 'created_before',
    tasks: 10,
    path: ({ middle }) => `/v1/tasks?created_before=${middle.createdMicros / 1_000_000n}`,
  },
  {
    name: 'created, a window',
    tasks: 10,
    path: ({ middle }) => {
      const second = middle.createdMicros / 1_000_000n;
      return `/v1/tasks?created_before=${second}&created_after=${second - 600n}`;
    },
  },
];

/**
 * These are reported without a promise. A total between a thousand and ten thousand is exact, and counting that many
 * takes up to two milliseconds each time. Filters together cost what it takes to walk the rarest of them.
 */
export const UNBOUNDED: readonly ListRequest[] = [
  list('metadata, one in 200', 'metadata.customer=7', -1),
  list('model and status', 'model=bench/video&status=success'),
  list('model and a rare status', 'model=bench/swatch&status=fail'),
  {
    name: 'key and open status',
    tasks: 10,
    path: ({ keyId }) => `/v1/tasks?keyId=${keyId}&status=handling,archiving`,
  },
  list('two labels', 'metadata.environment=production&metadata.customer=7', -1),
  list('label and status', 'metadata.environment=production&status=success'),
  list('rare model and status', 'model=bench/rare&status=fail', -1),
];
