/** `/admin/repairs`: the tasks that need repair, and the repairs that were done, in all processes. */
import { countRepairs, listRepairs } from '../../tasks/repair/repair-record.ts';
import type { RepairPosition } from '../../tasks/repair/repair-record.ts';
import { readTasksNeedingRepair } from '../../tasks/record/overdue.ts';
import { RepairListQuerySchema, RepairListSchema, RepairSummarySchema } from '@darkroom/api/admin/admin-repairs';
import { presentRepairList, presentRepairSummary } from '../../presenters/admin-work.ts';
import type { HttpContext } from '../app/context.ts';
import { decodeCursor, encodeCursor, unknownCursor } from '../app/cursor.ts';
import { defineRoute } from '../app/route.ts';
import type { Route } from '../app/route.ts';

const DEFAULT_PAGE_SIZE = 20;
/** As many digits as every `bigint` can hold. */
const ID = /^\d{1,18}$/;

const shared = { method: 'GET', tag: 'Administration', access: 'operator' } as const;

export function adminRepairRoutes({ database }: HttpContext): readonly Route[] {
  return [
    defineRoute({
      ...shared,
      path: '/admin/repairs',
      operationId: 'adminListRepairs',
      summary: 'List repairs',
      description:
        'Returns the repairs of all processes, newest first: tasks whose work had stopped and callbacks that were overdue. Repairs are kept for 30 days.',
      query: RepairListQuerySchema,
      response: { kind: 'data', schema: RepairListSchema },
      async handle({ query: { size = DEFAULT_PAGE_SIZE, cursor, kind } }) {
        const after = cursor === undefined ? undefined : requirePosition(cursor);
        const { repairs, hasMore } = await listRepairs(database, { size, after, kinds: kind });
        const last = hasMore ? repairs.at(-1) : undefined;
        const next = last && encodeCursor({ createdMicros: last.createdMicros, id: String(last.id) });
        return presentRepairList(size, repairs, next);
      },
    }),
    defineRoute({
      ...shared,
      path: '/admin/repairs/summary',
      operationId: 'adminGetRepairSummary',
      summary: 'Get a repair summary',
      response: { kind: 'data', schema: RepairSummarySchema },
      async handle() {
        const [tasks, counts] = await Promise.all([readTasksNeedingRepair(database), countRepairs(database)]);
        return presentRepairSummary(tasks, counts);
      },
    }),
  ];
}

/** @throws {RequestError} 400: this list did not return such a cursor. */
function requirePosition(cursor: string): RepairPosition {
  const { createdMicros, id } = decodeCursor(cursor);
  if (!ID.test(id)) throw unknownCursor();
  return { createdMicros, id: BigInt(id) };
}
