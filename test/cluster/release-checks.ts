/** Releases of the chart: upgrades under load, values that are rejected, what Kubernetes does with the objects, the end. */
import assert from 'node:assert/strict';
import { seconds } from '../containers/run.ts';
import { startWork, verifyTasks } from '../containers/work.ts';
import type { ClusterCheck, ClusterContext } from './checks.ts';
import { NAMESPACE } from './cluster.ts';
import type { Cluster } from './cluster.ts';
import { disrupt } from './disruption-checks.ts';

const ADMIN_PORT = 8788;
/** Changes the pods of both roles; the proxies are for a forwarded port, as docs/operations/kubernetes.md says. */
const CHANGED = ['config.LOG_LEVEL=debug', 'api.trustedProxies={10.244.0.0/16,127.0.0.1/32}'];
const TWO = ['api.replicas=2', 'workerDefaults.replicas=2'];
/** What a release may leave behind: nothing of the chart's. */
const KINDS = [
  'deployments',
  'replicasets',
  'pods',
  'jobs',
  'services',
  'configmaps',
  'secrets',
  'serviceaccounts',
  'ingresses',
  'networkpolicies',
  'poddisruptionbudgets',
  'horizontalpodautoscalers',
];

export const RELEASE_CHECKS: readonly ClusterCheck[] = [
  {
    name: '`helm upgrade` with other values replaces all pods while tasks are in progress, and no request fails',
    check: (context) => disrupt(context, 'upgrade', () => context.cluster.upgrade(...CHANGED, ...TWO)),
  },
  {
    name: 'the admin listener answers at a forwarded port as the documents say',
    async check({ cluster }) {
      const authorization = `Bearer ${await cluster.secret('darkroom', 'ADMIN_TOKEN')}`;
      await cluster.forward('deployment/darkroom-api', ADMIN_PORT, async (origin) => {
        const plain = await fetch(`${origin}/admin/accounts`, { headers: { authorization } });
        assert.match(await plain.text(), /only HTTPS is served here/);
        const headers = { authorization, 'x-forwarded-proto': 'https' };
        const answer = await fetch(`${origin}/admin/accounts`, { headers });
        assert.equal(answer.status, 200, await answer.text());
      });
      return undefined;
    },
  },
  {
    name: 'an eviction takes one api at a time, and a second one is refused until its pod is replaced',
    async check({ cluster }) {
      const pods = await cluster.pods('api');
      assert.equal(pods.length, 2);
      const [first, second] = pods.map(({ metadata }) => metadata.name);
      await evict(cluster, first ?? '');
      await assert.rejects(evict(cluster, second ?? ''), /disruption budget/);
      await cluster.waitForRollout();
      return undefined;
    },
  },
  {
    name: 'a value that only the program can reject stops the hook before it migrates, and changes nothing',
    async check({ cluster }) {
      const before = await uids(cluster);
      const begun = Date.now();
      await assert.rejects(
        cluster.upgrade(...CHANGED, ...TWO, 'config.TASK_RETENTION_DAYS=7'),
        /pre-upgrade hooks failed/,
      );
      const rejectedMs = Date.now() - begun;
      const log = await cluster.ours('logs', 'job/darkroom-migrate', '--container', 'configuration');
      assert.match(log, /TASK_RETENTION_DAYS/);
      assert.deepEqual(await uids(cluster), before);
      return `rejected after ${seconds(rejectedMs)}`;
    },
  },
  {
    name: 'autoscalers are accepted, and no pod is lost when they are turned on',
    async check(context) {
      const { cluster } = context;
      const scaled = ['api.autoscaling.enabled=true', 'workerDefaults.autoscaling.enabled=true'];
      await cluster.upgrade(...CHANGED, ...TWO, ...scaled);
      const names = await cluster.ours('get', 'horizontalpodautoscalers', '--output', 'name');
      assert.equal(names.split('\n').length, 2, names);
      const replicas = await cluster.ours('get', 'deployments', '--output', 'jsonpath={.items[*].spec.replicas}');
      assert.equal(replicas, '2 2');
      await cluster.waitForRollout();
      const numbers = [(await cluster.pods('api')).length, (await cluster.pods('worker')).length];
      assert.deepEqual(numbers, [2, 2]);
      await verifyAfter(context);
      return undefined;
    },
  },
  {
    name: '`helm uninstall` leaves nothing of its own',
    async check({ cluster }) {
      const begun = Date.now();
      await cluster.helm('uninstall', 'darkroom', '--wait', '--timeout', '5m');
      // It does not wait for the pods.
      await cluster.ours('wait', 'pod', '--all', '--for=delete', '--timeout=5m');
      const uninstalledMs = Date.now() - begun;
      const left = (await cluster.ours('get', KINDS.join(','), '--output', 'name')).split('\n').toSorted();
      // Made by the user, and by Kubernetes in every namespace.
      assert.deepEqual(left, ['configmap/kube-root-ca.crt', 'secret/darkroom', 'serviceaccount/default']);
      return `in ${seconds(uninstalledMs)}`;
    },
  },
];

async function verifyAfter({ cluster, client }: ClusterContext): Promise<void> {
  await verifyTasks(client, cluster.admin, await startWork(client, 'after', {}));
}

async function evict(cluster: Cluster, pod: string): Promise<void> {
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: pod, namespace: NAMESPACE } };
  const path = `/api/v1/namespaces/${NAMESPACE}/pods/${pod}/eviction`;
  await cluster.kubectl(['create', '--raw', path, '--filename', '-'], JSON.stringify(eviction));
}

async function uids(cluster: Cluster): Promise<readonly string[]> {
  const pods = await Promise.all([cluster.pods('api'), cluster.pods('worker')]);
  return pods.flat().map(({ metadata }) => metadata.uid);
}
