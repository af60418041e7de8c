/** How the pods are confined: by the kubelet, by the admission of the namespace, and by the network policies. */
import assert from 'node:assert/strict';
import type { ClusterCheck } from './checks.ts';
import { NAMESPACE } from './cluster.ts';
import type { Cluster } from './cluster.ts';

const ROLES = ['api', 'worker'] as const;
const CONNECT_TIMEOUT_MS = 3_000;
const NOT_ENFORCED = 'accepted, but not enforced here: the kernel has no nft_queue';

/** Each is reached, or not, from a pod of a role. */
const DESTINATIONS = [
  { host: 'temporal.darkroom-backing.svc.cluster.local', port: 7233, isReached: true },
  { host: 'postgres.darkroom-backing.svc.cluster.local', port: 5432, isReached: true },
  { host: 's3.darkroom-backing.svc.cluster.local', port: 9000, isReached: true },
  // The API of the cluster, and the proxy: both listen.
  { host: 'kubernetes.default.svc.cluster.local', port: 443, isReached: false },
  { host: 'proxy.ingress-nginx.svc.cluster.local', port: 443, isReached: false },
];

export const CONFINEMENT_CHECKS: readonly ClusterCheck[] = [
  {
    name: 'pods run as the user 1000 without capabilities and new privileges, with seccomp, on a read-only root',
    async check({ cluster }) {
      for (const role of ROLES) {
        const { metadata } = await cluster.podOf(role);
        const script = 'id -u; id -g; cat /proc/1/status; touch /written 2>&1 || true; touch /tmp/a /data/scratch/a';
        const output = await cluster.shell(metadata.name, script);
        assert.match(output, /^1000\n1000\n/, role);
        for (const line of [/^CapEff:\t0{16}$/m, /^CapBnd:\t0{16}$/m, /^NoNewPrivs:\t1$/m, /^Seccomp:\t2$/m]) {
          assert.match(output, line, role);
        }
        assert.match(output, /Read-only file system/, role);
      }
      return undefined;
    },
  },
  {
    name: 'no pod has a token of the cluster, and no variables of its Services',
    async check({ cluster }) {
      for (const role of ROLES) {
        const { metadata } = await cluster.podOf(role);
        const script = 'ls /var/run/secrets 2>/dev/null; env | grep _SERVICE_PORT_ || true';
        // Those of the API of the cluster cannot be switched off.
        const lines = (await cluster.shell(metadata.name, script)).split('\n');
        assert.deepEqual(
          lines.filter((line) => line !== '' && !line.startsWith('KUBERNETES_')),
          [],
          role,
        );
      }
      return undefined;
    },
  },
  {
    name: 'network policies let pods reach PostgreSQL, Temporal, the store and names, and nothing else of the cluster',
    async check({ cluster }) {
      if (!(await cluster.enforcesPolicies())) return NOT_ENFORCED;
      const { metadata } = await cluster.podOf('worker');
      for (const { host, port, isReached } of DESTINATIONS) {
        assert.equal(await reaches(cluster, metadata.name, host, port), isReached, `${host}:${port}`);
      }
      return undefined;
    },
  },
  {
    name: 'network policies let the proxy reach the api, and no other pod',
    async check({ cluster }) {
      if (!(await cluster.enforcesPolicies())) return NOT_ENFORCED;
      const { status } = await cluster.podOf('api');
      const worker = await cluster.podOf('worker');
      assert.equal(await reaches(cluster, worker.metadata.name, status.podIP ?? '', 8787), false);
      return undefined;
    },
  },
];

/** Whether a connection is made from a pod in the namespace of the installation. */
async function reaches(cluster: Cluster, pod: string, host: string, port: number): Promise<boolean> {
  const program = `const socket = require('node:net').connect(${port}, ${JSON.stringify(host)});
    const end = (text) => { console.log(text); process.exit(); };
    socket.once('connect', () => end('connected')).once('error', (error) => end(error.code));
    setTimeout(() => end('nothing'), ${CONNECT_TIMEOUT_MS});`;
  const output = await cluster.kubectl(['--namespace', NAMESPACE, 'exec', pod, '--', 'node', '--eval', program]);
  assert.match(output, /^(?:connected|nothing|ECONNREFUSED|ETIMEDOUT|EHOSTUNREACH)$/);
  return output === 'connected';
}
