/**
 * For diagnosis by operators: the upstreams, and any single task of any account.
 */
import { isTextModel } from '../../catalogue/text-definition.ts';
import { isTaskId } from '../../domain/workflow-ids.ts';
import { readTask } from '../../tasks/record/read.ts';
import { readTimeline } from '../../tasks/record/timeline.ts';
import { setDrained } from '../../upstreams/drain.ts';
import { idleUpstream, reportUpstreams } from '../../upstreams/upstream-report.ts';
import { capsOf } from '../../upstreams/upstream-caps.ts';
import {
  AdminServiceSchema,
  AdminTaskSchema,
  UpstreamSchema,
  UpstreamsSchema,
} from '@darkroom/api/admin/admin-service';
import { presentAdminTask, presentUpstream, presentUpstreams } from '../../presenters/admin-service.ts';
import { logChange } from '../middleware/admin-request.ts';
import type { HttpContext } from '../app/context.ts';
import { notFound } from '../app/errors.ts';
import { defineRoute } from '../app/route.ts';
import type { Route, RouteRequest } from '../app/route.ts';
import { workflowsUrl } from '../app/workflow-links.ts';

const shared = { method: 'GET', tag: 'Administration', access: 'operator' } as const;
const ofUpstream = {
  ...shared,
  method: 'POST',
  params: { upstream: 'The name of the upstream, as returned by `GET /admin/upstreams`.' },
  errors: ['NOT_FOUND'],
  response: { kind: 'data', schema: UpstreamSchema },
} as const;

export function adminOperationRoutes(http: HttpContext): readonly Route[] {
  const { config, database } = http;
  const workflows = workflowsUrl(config);
  const caps = () => capsOf(http.catalogue.models.filter((model) => !isTextModel(model)));

  const drainOrResume = async (
    { ctx, params: { upstream = '' } }: Pick<RouteRequest<unknown, unknown>, 'ctx' | 'params'>,
    isDrained: boolean,
  ) => {
    await setDrained(database, upstream, isDrained);
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
        'Returns the state of the upstreams that tasks use, which is shared by all workers. The state of upstreams for text is kept by each API process and is available in its metrics.',
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
        'Within a second, no new tasks go to the upstream. Its jobs are polled until they end. Tasks go to other upstreams of their routes, or wait.',
      handle: (request) => drainOrResume(request, true),
    }),
    defineRoute({
      ...ofUpstream,
      path: '/admin/upstreams/{upstream}/resume',
      operationId: 'adminResumeUpstream',
      summary: 'Resume an upstream',
      description: 'Lets tasks go to the upstream again, and ends its pause.',
      handle: (request) => drainOrResume(request, false),
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
        return presentAdminTask(task, events, workflows === undefined ? undefined : `${workflows}/${taskId}`);
      },
    }),
  ];
}
