/** Pods that are removed, gracefully or not, and rollouts, while tasks are in progress: nothing is lost or paid twice. */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { seconds } from '../containers/run.ts';
import { startWork, verifyTasks, waitUntilInProgress } from '../containers/work.ts';
import type { ClusterCheck, ClusterContext } from './checks.ts';
import { NAMESPACE } from './cluster.ts';
import { watchRequests } from './steady-requests.ts';

const POLL_MS = 500;
const GONE_TIMEOUT_MS = 3 * 60_000;
const NOTHING = {};
const WAYS = [
  { name: 'deleted', options: [] },
  { name: 'killed at once', options: ['--force', '--grace-period=0'] },
] as const;

export const DISRUPTION_CHECKS: readonly ClusterCheck[] = [
  ...(['worker', 'api'] as const).flatMap((role) =>
    WAYS.map(({ name, options }): ClusterCheck => ({
      name: `the pod of the ${role} is ${name} while tasks are in progress: none is lost or charged twice`,
      check: (context) => deletePod(context, role, options),
    })),
  ),
  {
    name: '`rollout restart` replaces all pods while tasks are in progress, and no request fails',
    async check(context) {
      const { cluster } = context;
      return disrupt(context, 'restart', async () => {
        await cluster.ours('rollout', 'restart', 'deployment');
        await cluster.waitForRollout();
      });
    },
  },
];

async function deletePod(
  { cluster, client }: ClusterContext,
  role: 'api' | 'worker',
  options: readonly string[],
): Promise<string> {
  const name = `${role}${options.length}`;
  const work = await startWork(client, name, NOTHING);
  const inProgress = await waitUntilInProgress(client, work);
  const { metadata } = await cluster.podOf(role);
  const begun = Date.now();
  await cluster.ours('delete', 'pod', metadata.name, '--wait=false', ...options);
  // Accepted as soon as that is possible again.
  const late = startWork(client, `${name}-late`, NOTHING);
  const goneMs = await waitUntilGone({ cluster, client }, metadata.name, begun);
  await cluster.waitForRollout();
  const readyMs = Date.now() - begun;
  await verifyTasks(client, cluster.admin, [...work, ...(await late)]);
  const measured = `ready ${seconds(readyMs)} and all done ${seconds(Date.now() - begun)} after it`;
  return `${inProgress} in progress, gone ${seconds(goneMs)}, ${measured}`;
}

async function waitUntilGone({ cluster }: ClusterContext, pod: string, since: number): Promise<number> {
  while ((await cluster.ours('get', 'pod', pod, '--ignore-not-found', '--output', 'name')) !== '') {
    assert.ok(Date.now() < since + GONE_TIMEOUT_MS, `${pod} does not end`);
    await delay(POLL_MS);
  }
  return Date.now() - since;
}

/** Does something to the pods while tasks are in progress and a client reads without repeating. */
export async function disrupt(
  { cluster, client }: ClusterContext,
  name: string,
  change: () => Promise<unknown>,
): Promise<string> {
  const work = await startWork(client, name, NOTHING);
  const inProgress = await waitUntilInProgress(client, work);
  const before = await Promise.all([cluster.pods('api'), cluster.pods('worker')]);
  const requests = watchRequests(client);
  const begun = Date.now();
  const late = delay(POLL_MS).then(() => startWork(client, `${name}-late`, NOTHING));
  try {
    await change();
  } finally {
    await requests.stop();
  }
  const changedMs = Date.now() - begun;
  const after = await Promise.all([cluster.pods('api'), cluster.pods('worker')]);
  const kept = before.flat().filter(({ metadata }) => after.flat().some((pod) => pod.metadata.uid === metadata.uid));
  assert.deepEqual(
    kept.map(({ metadata }) => metadata.name),
    [],
    `pods of ${NAMESPACE} that were not replaced`,
  );
  await verifyTasks(client, cluster.admin, [...work, ...(await late)]);
  assert.deepEqual(requests.failures(), []);
  return `${inProgress} in progress, replaced in ${seconds(changedMs)}, ${requests.count()} requests without a failure`;
}
