/**
 * `/v1/storages`: listing, promoting and deleting stored outputs (spec §2.6, §4.3; contract §5).
 */
import { MAX_PAGED_OUTPUTS } from '@darkroom/api/facts/limits';
import { listOutputs } from '../../objects/outputs/list-outputs.ts';
import { deleteOutputs, promoteOutputs } from '../../tasks/lifecycle/storage-operations.ts';
import type { StorageDecision } from '../../tasks/lifecycle/storage-operations.ts';
import {
  OutputIdsSchema,
  StorageDecisionSchema,
  StorageListSchema,
  StorageQuerySchema,
} from '@darkroom/api/tasks/storage';
import { isOutputId, presentDecision, presentOutputPage } from '../../presenters/storage.ts';
import type { HttpContext } from '../app/context.ts';
import { invalidRequest } from '../app/errors.ts';
import { defineRoute } from '../app/route.ts';
import type { Route } from '../app/route.ts';

const IDS_EXAMPLE = {
  ids: { summary: 'Two outputs', value: ['out_01JD0000000000000000000001', 'out_01JD0000000000000000000002'] },
};

export function storageRoutes(http: HttpContext): readonly Route[] {
  const remove = async (accountId: string, outputIds: readonly string[]): Promise<StorageDecision> =>
    deleteOutputs(http.accountDatabase(accountId), { accountId, outputIds, now: http.now() });
  const removing = (spec: Pick<Route, 'method' | 'path' | 'operationId' | 'summary' | 'description'>): Route =>
    defineRoute({
      ...spec,
      tag: 'Stored outputs',
      access: 'storage:write',
      body: { kind: 'json', schema: OutputIdsSchema, examples: IDS_EXAMPLE },
      response: { kind: 'data', schema: StorageDecisionSchema },
      async handle({ caller, body }) {
        return presentDecision(await remove(caller.accountId, body));
      },
    });

  return [
    defineRoute({
      method: 'GET',
      path: '/v1/storages',
      operationId: 'listStoredOutputs',
      tag: 'Stored outputs',
      summary: 'List stored outputs',
      description: 'Returns the newest outputs first. Each request returns newly signed URLs.',
      access: 'storage:read',
      query: StorageQuerySchema,
      isExpensive: true,
      response: { kind: 'data', schema: StorageListSchema },
      async handle({ caller, query }) {
        const { page = 1, size = 10, storage_tier: storageTier, taskId, type, status } = query;
        if ((page - 1) * size >= MAX_PAGED_OUTPUTS) {
          throw invalidRequest(
            `invalid request: page: only the first ${MAX_PAGED_OUTPUTS} rows can be paged through; narrow the list with storage_tier, taskId, type or status`,
          );
        }
        const filters = { storageTier, taskId, type, status };
        const list = await listOutputs(http.database, caller.accountId, filters, { page, size, now: http.now() });
        return presentOutputPage(list, { page, size }, http.urlSigner);
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/v1/storages/promote',
      operationId: 'promoteStoredOutputs',
      tag: 'Stored outputs',
      summary: 'Promote outputs to persistent storage',
      description:
        'Returns immediately. The `status` of an output is `pending` until its `storage_tier` is `persistent`. Persistent storage is metered daily.',
      access: 'storage:write',
      body: { kind: 'json', schema: OutputIdsSchema, examples: IDS_EXAMPLE },
      response: { kind: 'data', schema: StorageDecisionSchema },
      async handle({ caller, body }) {
        const decision = await promoteOutputs(http.accountDatabase(caller.accountId), {
          accountId: caller.accountId,
          outputIds: body,
          now: http.now(),
          priceMicroUsdPerGbMonth: http.config.storagePriceMicroUsdPerGbMonth,
        });
        if (decision.accepted.length > 0) http.wakeLauncher();
        return presentDecision(decision);
      },
    }),
    removing({
      method: 'DELETE',
      path: '/v1/storages',
      operationId: 'deleteStoredOutputs',
      summary: 'Delete outputs',
      description:
        'Once this returns, the outputs cannot be read, even with existing URLs. The bytes are deleted within minutes. The task keeps an entry for each output.',
    }),
    removing({
      method: 'POST',
      path: '/v1/storages/delete',
      operationId: 'deleteStoredOutputsByPost',
      summary: 'Delete outputs by POST',
    }),
    defineRoute({
      method: 'DELETE',
      path: '/v1/storages/{outputId}',
      operationId: 'deleteStoredOutput',
      tag: 'Stored outputs',
      summary: 'Delete an output',
      access: 'storage:write',
      params: { outputId: 'The output id, as returned by `GET /v1/storages`.' },
      response: { kind: 'data', schema: StorageDecisionSchema },
      async handle({ caller, params }) {
        const { outputId = '' } = params;
        // What cannot be an id need not be queried; the result is that for any other unknown one.
        if (!isOutputId(outputId)) return { accepted: [], rejected: [{ id: outputId, reason: 'not_owned' }] };
        return presentDecision(await remove(caller.accountId, [outputId]));
      },
    }),
  ];
}
