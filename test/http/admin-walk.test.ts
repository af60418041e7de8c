/** The walk over every route of the admin listener (walk.ts). */
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { createModelReader } from '../../src/catalogue/load-models.ts';
import { readModelTexts } from '../../src/catalogue/model-files.ts';
import { packageFile } from '../../src/config/package-root.ts';
import { newId } from '../../src/domain/ids.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { adminRoutes } from '../../src/http/app/routes.ts';
import type { Route } from '../../src/http/app/route.ts';
import { PROTOCOLS } from '../../src/providers/protocols.ts';
import { pauseUpstream } from '../../src/upstreams/states.ts';
import { pruneNow } from '../tasks/old-tasks.ts';
import { DocumentedApi } from './documented-api.ts';
import { raw } from './raw-request.ts';
import type { RawAnswer } from './raw-request.ts';
import { filledPath, newTask } from './route-requests.ts';
import type { Parts } from './route-requests.ts';
import { ADMIN_TOKEN, serveAdmin } from './serve-admin.ts';
import { unreachableDatabase } from './serve.ts';
import { expectError, walk } from './walk.ts';

// Nobody is asked about the made-up credential.
const environment = { TRUSTED_PROXIES: '127.0.0.0/8', UPSTREAM_RUNWAY_URL: 'http://127.0.0.1:9/v1' };
// The queues report the age of their oldest item: it must not change between two reads.
const start = Date.now();
const admin = await serveAdmin({ environment, now: () => start });
const httpsOnly = await serveAdmin({ requiresHttps: true, environment: { TRUSTED_PROXIES: '10.0.0.0/8' } });
const away = await serveAdmin({ environment, appDatabase: unreachableDatabase() });
const { providers } = await createModelReader(PROTOCOLS)(await readModelTexts([packageFile('models')]));
for (const { served } of [admin, httpsOnly, away]) {
  const offered = providers.map((provider) => ({ provider, missing: undefined, models: [] }));
  Object.assign(served.http, { catalogue: { ...served.http.catalogue, providers: () => offered } });
}
after(async () => {
  await admin.close();
  await away.close();
  await httpsOnly.close();
});
const account = await admin.served.newAccount();
await newTask(account);
const routes = adminRoutes(admin.served.http);
const authorization = { Authorization: `Bearer ${ADMIN_TOKEN}` };
const api = new DocumentedApi(
  JSON.parse((await raw(admin.url, 'GET', '/admin/openapi.json', authorization)).text) as object,
);

const ofAccount = { params: { accountId: account.id } };
const ofKey = async (): Promise<Parts> => ({ params: { keyId: (await account.newKey()).id } });

const newUpstream = async (): Promise<string> => {
  await pauseUpstream(admin.served.room.database, 'openai:images.example.com:8443', 1_000);
  return 'openai:images.example.com:8443';
};

/** By `operationId`; routes not listed here take nothing, or an account's id. */
const REQUESTS: Readonly<Record<string, () => Promise<Parts>>> = {
  adminListAccounts: async () => ({ query: 'size=1&search=t' }),
  adminCreateAccount: async () => ({
    body: { name: 'studio', usd: '25', limits: { runningTasks: 3 }, organisationId: account.id },
  }),
  adminUpdateAccount: async () => ({ ...ofAccount, body: { name: 'renamed', limits: { queuedTasks: 5_000 } } }),
  adminSuspendAccount: async () => ({ ...ofAccount, body: { reason: 'a test' } }),
  adminTopUp: async () => ({ ...ofAccount, body: { usd: '10', reference: newId('topup') } }),
  adminAdjust: async () => ({ ...ofAccount, body: { usd: '-1.5', reason: 'a test' } }),
  adminListLedger: async () => ({ ...ofAccount, query: 'size=1&kind=topup' }),
  adminGetUsage: async () => ({ ...ofAccount, query: 'groupBy=model' }),
  adminGetMargins: async () => ({ query: 'groupBy=model,upstream' }),
  adminCreateKey: async () => ({ ...ofAccount, body: { name: 'made by an operator', scopes: ['tasks:read'] } }),
  adminListRepairs: async () => ({ query: 'size=1&kind=settled,callback' }),
  adminSetProvider: async () => ({ params: { provider: 'runway' }, body: { credential: 'a-key' } }),
  adminResetProvider: async () => ({ params: { provider: 'runway' } }),
  adminDrainUpstream: async () => ({ params: { upstream: await newUpstream() } }),
  adminResumeUpstream: async () => ({ params: { upstream: await newUpstream() } }),
  adminListTasks: async () => ({ query: 'kind=task&status=queued,fail&size=1' }),
  adminGetTask: async () => ({ params: { taskId: await newTask(account) } }),
  getDashboardFile: async () => ({ params: { fileName: 'icon.svg' } }),
  adminRotateKey: ofKey,
  adminRevokeKey: ofKey,
};

async function requestOf(route: Route): Promise<Parts> {
  const make = REQUESTS[route.operationId];
  if (make !== undefined) return make();
  assert.ok(route.body === undefined, `${route.operationId} has no request that shows it at work`);
  return route.path.includes('{accountId}') ? ofAccount : {};
}

/** A wrong token from one address, repeatedly. */
async function assertCallersRejected(route: Route, parts: Parts): Promise<void> {
  const headers = { 'X-Forwarded-For': `192.0.2.${routes.indexOf(route)}`, Authorization: 'Bearer wrong' };
  let answer: RawAnswer | undefined;
  for (let attempt = 0; attempt < 100 && answer?.status !== 429; attempt++) {
    answer = await raw(admin.url, route.method, filledPath(route, parts), headers);
  }
  assert.ok(answer);
  expectError(api, route, answer, 429, 'RATE_LIMITED');
}

walk({
  url: admin.url,
  awayUrl: away.url,
  httpsOnlyUrl: httpsOnly.url,
  routes,
  api,
  key: ADMIN_TOKEN,
  awayKey: account.client.key,
  requestOf,
  moreAnswers: {},
  rejections: {
    'adminGetTask 410 TASK_PRUNED': async () => {
      const taskId = (await newTask(account)) as TaskId;
      await pruneNow(admin.served.room, taskId);
      return { params: { taskId } };
    },
  },
  assertCallersRejected,
  // They need no database.
  unreachable: ['adminGetOpenApi', 'adminGetCatalogue', 'adminListProviders', 'adminGetService', 'adminGetMetrics'].map(
    (id) => `${id} 503 SERVICE_UNAVAILABLE`,
  ),
  settle: () => admin.served.http.keyUse.flush(),
});
