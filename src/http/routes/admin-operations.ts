/**
 * For diagnosis by operators: the upstreams, the tasks and text calls of all accounts, any single task, and the tasks
 * that need repair with the repairs that were done, in all processes.
 */
import { RepairListQuerySchema, RepairListSchema, RepairSummarySchema } from '@darkroom/api/admin/admin-repairs';
import { isTaskId } from '../../domain/workflow-ids.ts';
import { readWorkAtUpstream } from '../../tasks/lifecycle/generations.ts';
import { readTask } from '../../tasks/record/read.ts';
import { findUnstorableText } from '../../tasks/record/storable-text.ts';
import { readTimeline } from '../../tasks/record/timeline.ts';
import { idleUpstream, reportUpstreams, setDrained } from '../../upstreams/operations.ts';
import { capsOf } from '../../upstreams/upstream-caps.ts';
import {
  StatusOfOtherKindError,
  listWork,
  presentAdminTask,
  presentRepairList,
  presentRepairSummary,
} from '../../presenters/admin-work.ts';
import { presentUpstream, presentUpstreams } from '../../presenters/upstream.ts';
import { readTasksNeedingRepair } from '../../tasks/record/open-tasks.ts';
import { countRepairs, listRepairs } from '../../tasks/repair/repair-record.ts';
import type { RepairPosition } from '../../tasks/repair/repair-record.ts';
import type { HttpContext } from '../app/context.ts';
import { decodeCursor, encodeCursor, unknownCursor } from '../app/cursor.ts';
import { invalidRequest, notFound, violated } from '../app/errors.ts';
import { defineRoute } from '../app/route.ts';
import type { Route, RouteRequest } from '../app/route.ts';
import { workflowsUrl } from '../app/workflow-links.ts';
import { logChange } from './admin-request.ts';
import {
  AdminServiceSchema,
  AdminTaskSchema,
  UpstreamSchema,
  UpstreamsSchema,
} from '@darkroom/api/admin/admin-service';
import { WorkListQuerySchema, WorkListSchema } from '@darkroom/api/admin/admin-work';
import { rangeProblem } from '@darkroom/api/tasks/query-range';

const shared = { method: 'GET', tag: 'Administration', access: 'operator' } as const;
const ofUpstream = {
  ...shared,
  method: 'POST',
  params: { upstream: 'The name of the upstream, as returned by `GET /admin/upstreams`.' },
  errors: ['NOT_FOUND'],
  response: { kind: 'data', schema: UpstreamSchema },
} as const;

const DEFAULT_REPAIRS = 20;
/** Ids of repairs: as many digits as every `bigint` can hold. */
const REPAIR_ID = /^\d{1,18}$/;

export function adminOperationRoutes(http: HttpContext): readonly Route[] {
  const { config, database } = http;
  const workflows = workflowsUrl(config);
  const caps = () => capsOf(http.catalogue.models);

  const drainOrResume = async (
    { ctx, params: { upstream = '' } }: Pick<RouteRequest<unknown, unknown>, 'ctx' | 'params'>,
    isDrained: boolean,
  ) => {
    await setDrained(database, upstream, isDrained, caps().has(upstream));
    logChange(http, ctx, isDrained ? 'drain upstream' : 'resume upstream', { upstream });
    const reports = await reportUpstreams(database);
    return presentUpstream(reports.find((report) => report.upstream === upstream) ?? idleUpstream(upstream), caps());
  };

  return [
    defineRoute({
      ...shared,
      path: '/admin/service',
      operationId: 'adminGetService',
      summary: 'Get the service URLs',
      response: { kind: 'data', schema: AdminServiceSchema },
      async handle() {
        return {
          baseUrl: `${http.urlSigner.publicUrl}/v1`,
          ...(workflows === undefined ? {} : { workflowsUrl: workflows }),
          isEmbedded: config.isStandalone,
        };
      },
    }),
    defineRoute({
      ...shared,
      path: '/admin/upstreams',
      operationId: 'adminGetUpstreams',
      summary: 'Get the state of upstreams',
      description:
        'Returns the state of the upstreams of tasks and of text calls, which all processes share. The names of those for text begin with `text:`.',
      response: { kind: 'data', schema: UpstreamsSchema },
      async handle() {
        return presentUpstreams(await reportUpstreams(database), caps());
      },
    }),
    defineRoute({
      ...ofUpstream,
      path: '/admin/upstreams/{upstream}/drain',
      operationId: 'adminDrainUpstream',
      summary: 'Drain an upstream',
      description:
        'Within two seconds, no new tasks and text calls go to the upstream. Its jobs are polled until they end. Tasks go to other upstreams of their routes, or wait; text calls go to other upstreams of their models, or fail with 503.',
      handle: (request) => drainOrResume(request, true),
    }),
    defineRoute({
      ...ofUpstream,
      path: '/admin/upstreams/{upstream}/resume',
      operationId: 'adminResumeUpstream',
      summary: 'Resume an upstream',
      description: 'Lets tasks and text calls go to the upstream again, and ends its pause.',
      handle: (request) => drainOrResume(request, false),
    }),
    defineRoute({
      ...shared,
      path: '/admin/tasks',
      operationId: 'adminListTasks',
      summary: 'List tasks and text calls of all accounts',
      description:
        'Returns the newest first, without what their owners sent and received. Filters can be combined. `reason`, or `status=fail` of tasks and `status=failed` of text calls, finds failures wherever they are. A text call that was rejected before its cost was held is not listed.',
      query: WorkListQuerySchema,
      response: { kind: 'data', schema: WorkListSchema },
      async handle({ query: { cursor, ...query } }) {
        const problem = findUnstorableText(query);
        if (problem !== undefined) throw violated(problem);
        const { created_after: from, created_before: before } = query;
        const disorder = rangeProblem(['created_after', from], ['created_before', before]);
        if (disorder !== undefined) throw invalidRequest(`invalid request: ${disorder}`);
        const after = cursor === undefined ? undefined : decodeCursor(cursor);
        const { next, ...list } = await listWork(database, query, after).catch((error: unknown) => {
          throw error instanceof StatusOfOtherKindError ? invalidRequest(`invalid request: ${error.message}`) : error;
        });
        return { ...list, ...(next === undefined ? {} : { nextCursor: encodeCursor(next) }) };
      },
    }),
    defineRoute({
      ...shared,
      path: '/admin/tasks/{taskId}',
      operationId: 'adminGetTask',
      summary: 'Get a task of any account',
      description: 'Omits everything the owner sent and the outputs themselves.',
      params: { taskId: 'The task id.' },
      errors: ['NOT_FOUND', 'TASK_PRUNED'],
      response: { kind: 'data', schema: AdminTaskSchema },
      async handle({ params: { taskId = '' } }) {
        if (!isTaskId(taskId)) throw notFound();
        const task = await readTask(database, taskId);
        const { events } = await readTimeline(database, taskId, task.accountId, 0);
        const work = await readWorkAtUpstream(database, taskId);
        return presentAdminTask(task, events, work, workflows === undefined ? undefined : `${workflows}/${taskId}`);
      },
    }),
    defineRoute({
      ...shared,
      path: '/admin/repairs',
      operationId: 'adminListRepairs',
      summary: 'List repairs',
      description:
        'Returns the repairs of all processes, newest first: tasks whose work had stopped and callbacks that were overdue. Repairs are kept for 30 days.',
      query: RepairListQuerySchema,
      response: { kind: 'data', schema: RepairListSchema },
      async handle({ query: { size = DEFAULT_REPAIRS, cursor, kind } }) {
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
  if (!REPAIR_ID.test(id)) throw unknownCursor();
  return { createdMicros, id: BigInt(id) };
}
