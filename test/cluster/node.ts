/**
 * A Kubernetes node with its control plane, in namespaces of its own: what it does to network, mounts and processes
 * ends with them. Only control groups and a few settings of the kernel are those of the machine; they are put back.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, readFile, readdir, rm, rmdir, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { errorCodeOf } from '../../src/domain/darkroom-error.ts';
import { CannotRunError, run, say, works } from '../containers/run.ts';
import {
  API_PORT,
  CGROUP,
  NODE_ADDRESS,
  NODE_NAME,
  OUTSIDE_ADDRESS,
  POD_RANGE,
  SERVICE_RANGE,
  writeNodeFiles,
} from './node-files.ts';
import type { NodeFiles } from './node-files.ts';

const START_TIMEOUT_MS = 5 * 60_000;
const CGROUPS = '/sys/fs/cgroup';
const UNSHARED = '--net --mount --propagation=private --pid --uts --ipc --fork --mount-proc --kill-child'.split(' ');
/** The first process of the namespaces: it waits for the orphans of the others. */
const WAIT_FOR_ORPHANS = 'while :; do sleep 86400 & wait; done';
/** kubelet changes them for the whole machine. */
const SYSCTLS = [
  'vm/overcommit_memory',
  'vm/panic_on_oom',
  'kernel/panic',
  'kernel/panic_on_oops',
  'kernel/keys/root_maxkeys',
  'kernel/keys/root_maxbytes',
];

export interface Node {
  readonly files: NodeFiles;
  /** Runs a program in the namespaces of the node. @returns its output. */
  inside(command: string, args: readonly string[], input?: string): Promise<string>;
  /** The end of the log of each of its processes. */
  logs(): Promise<string>;
  /** Imports an archive of `docker save`. */
  importImages(archive: string): Promise<void>;
  stop(): Promise<void>;
}

/** What is missing on this machine; empty if a node can run here. */
export async function whatNodeMisses(): Promise<readonly string[]> {
  const missing: string[] = [];
  if (process.platform !== 'linux') missing.push('this is not Linux');
  if (process.getuid?.() !== 0) missing.push('a node needs root');
  for (const [program, args] of [
    ['containerd', ['--version']],
    ['runc', ['--version']],
    ['iptables', ['--version']],
    ['conntrack', ['--version']],
    ['unshare', ['--version']],
    ['ip', ['-Version']],
    ['/usr/lib/cni/host-local', []],
  ] as const) {
    if (!(await exists(program, args))) missing.push(`there is no ${program}`);
  }
  return missing.length === 0
    ? []
    : [...missing, 'Debian: containerd, runc, containernetworking-plugins, iptables, conntrack, iproute2, util-linux'];
}

/** A plug-in of the network has no `--version`, and fails without its environment. */
async function exists(program: string, args: readonly string[]): Promise<boolean> {
  if (await works(program, args)) return true;
  return run(program, args).then(
    () => true,
    (error: unknown) => errorCodeOf(error) !== 'ENOENT',
  );
}

/** @param programs the directory of the programs of Kubernetes. */
export async function startNode(programs: string): Promise<Node> {
  const missing = await whatNodeMisses();
  if (missing.length > 0) throw new CannotRunError(`No Kubernetes node can run here: ${missing.join('; ')}.`);
  const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-cluster-'));
  const sysctls = await readSysctls();
  const files = await writeNodeFiles(directory);
  const waiting = [...UNSHARED, 'sh', '-c', WAIT_FOR_ORPHANS];
  const first = spawn('unshare', waiting, { stdio: 'ignore', detached: true });
  const ended = once(first, 'exit');
  const logs: string[] = [];
  const enter = await namespacesOf(first.pid ?? 0);

  const inside = (command: string, args: readonly string[], input?: string): Promise<string> =>
    run('nsenter', [...enter, command, ...args], {
      environment: { PATH: `${programs}${path.delimiter}${process.env['PATH']}` },
      ...(input === undefined ? {} : { input }),
    });

  const launch = async (name: string, args: readonly string[], environment: NodeJS.ProcessEnv = {}): Promise<void> => {
    const log = path.join(directory, `${name}.log`);
    logs.push(log);
    const output = await open(log, 'w');
    const program = name === 'containerd' ? name : path.join(programs, name);
    spawn('nsenter', [...enter, program, ...args], {
      cwd: directory,
      stdio: ['ignore', output.fd, output.fd],
      detached: true,
      env: { PATH: process.env['PATH'], HOME: directory, ...environment },
    });
    await output.close();
  };

  const node: Node = {
    files,
    inside,
    logs: async () => {
      const ends = logs.map(async (log) => `== ${path.basename(log)}\n${(await readFile(log, 'utf8')).slice(-2_000)}`);
      return (await Promise.all(ends)).join('\n');
    },
    importImages: async (archive) => {
      await inside('ctr', ['--namespace', 'k8s.io', 'images', 'import', archive]);
    },
    async stop() {
      // With the first process of a namespace, the kernel ends all others, and with the last one mounts and links go.
      first.kill('SIGKILL');
      if (first.exitCode === null && first.signalCode === null) await ended;
      await works('ip', ['link', 'del', linkOf(first.pid ?? 0)]);
      await removeCgroups();
      await writeSysctls(sysctls);
      await removeDirectory(directory);
    },
  };
  try {
    await prepareNamespaces(first.pid ?? 0, node);
    await startControlPlane(node, launch);
    await startWorkloads(node, launch);
  } catch (error) {
    say(await node.logs());
    await node.stop();
    throw error;
  }
  return node;
}

type Launcher = (name: string, args: readonly string[], environment?: NodeJS.ProcessEnv) => Promise<void>;

/** @returns the options of `nsenter` for the child of `unshare`, which is the first process in them. */
async function namespacesOf(unshare: number): Promise<readonly string[]> {
  const children = `/proc/${unshare}/task/${unshare}/children`;
  const child = await until('the namespaces', async () => {
    const [first = ''] = (await readFile(children, 'utf8')).trim().split(' ');
    if (first === '') throw new Error('there is no process in them');
    return first;
  });
  return ['--target', child, '--net', '--mount', '--pid', '--uts', '--ipc', '--'];
}

function linkOf(pid: number): string {
  return `drc${pid}`;
}

async function prepareNamespaces(unshare: number, { inside, files: { directory, adminToken } }: Node): Promise<void> {
  const link = linkOf(unshare);
  await run('ip', ['link', 'add', link, 'type', 'veth', 'peer', 'name', 'outside']);
  const [, child = ''] = await namespacesOf(unshare);
  await run('ip', ['link', 'set', 'outside', 'netns', child]);
  await run('ip', ['addr', 'add', `${OUTSIDE_ADDRESS}/30`, 'dev', link]);
  await run('ip', ['link', 'set', link, 'up']);
  const service = '/run/secrets/kubernetes.io/serviceaccount';
  await inside(
    'sh',
    [
      '-euc',
      `hostname ${NODE_NAME}
ip link set lo up
ip addr add ${NODE_ADDRESS}/30 dev outside
ip link set outside up
# A bridge without ports, where all goes that is for no pod and no service: nothing leaves this machine.
ip link add nowhere type bridge
ip link set nowhere up
ip route add default dev nowhere
sysctl -qw net.ipv4.ip_forward=1
# Sockets, locks and names of networks; and what programs store at fixed places.
mount -t tmpfs tmpfs /run
mkdir -p /run/lock /run/netns ${service} ${directory}/var ${directory}/var-work
mount -t overlay overlay -o lowerdir=/var,upperdir=${directory}/var,workdir=${directory}/var-work /var
for hierarchy in ${CGROUPS} ${CGROUPS}/*; do
  [ ! -e "$hierarchy/cgroup.procs" ] || mkdir -p "$hierarchy/${CGROUP}"
done
cat > ${service}/token`,
    ],
    adminToken,
  );
}

async function startControlPlane({ files, inside }: Node, launch: Launcher): Promise<void> {
  const { directory, kubeconfig } = files;
  await launch('etcd', [
    `--data-dir=${path.join(directory, 'etcd')}`,
    '--unsafe-no-fsync',
    '--log-level=warn',
    '--listen-client-urls=http://127.0.0.1:2379',
    '--advertise-client-urls=http://127.0.0.1:2379',
    '--listen-peer-urls=http://127.0.0.1:2380',
  ]);
  await launch('kube-apiserver', [
    '--etcd-servers=http://127.0.0.1:2379',
    `--service-cluster-ip-range=${SERVICE_RANGE}`,
    `--advertise-address=${NODE_ADDRESS}`,
    `--cert-dir=${path.dirname(files.authority)}`,
    `--token-auth-file=${files.tokens}`,
    '--authorization-mode=Node,RBAC',
    '--allow-privileged',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${files.serviceAccountPublicKey}`,
    `--service-account-signing-key-file=${files.serviceAccountKey}`,
    '--kubelet-preferred-address-types=InternalIP',
  ]);
  await until('the API server', () => inside('kubectl', ['--kubeconfig', kubeconfig, 'get', '--raw', '/readyz']));
  await launch('kube-controller-manager', [
    `--kubeconfig=${kubeconfig}`,
    '--leader-elect=false',
    `--cluster-cidr=${POD_RANGE}`,
    `--service-account-private-key-file=${files.serviceAccountKey}`,
    `--root-ca-file=${files.authority}`,
  ]);
  await launch('kube-scheduler', ['--kubeconfig', kubeconfig, '--leader-elect=false']);
}

async function startWorkloads({ files, inside }: Node, launch: Launcher): Promise<void> {
  const { directory, kubeconfig } = files;
  await launch('containerd', ['--config', files.containerd]);
  await until('containerd', () => inside('ctr', ['version']));
  await launch('kube-proxy', [
    `--kubeconfig=${kubeconfig}`,
    '--proxy-mode=iptables',
    `--cluster-cidr=${POD_RANGE}`,
    `--hostname-override=${NODE_NAME}`,
    // Settings of the whole machine.
    '--conntrack-max-per-core=0',
    '--conntrack-tcp-timeout-established=0',
    '--conntrack-tcp-timeout-close-wait=0',
  ]);
  await launch('kubelet', [
    `--config=${files.kubelet}`,
    `--kubeconfig=${files.nodeKubeconfig}`,
    `--hostname-override=${NODE_NAME}`,
    `--root-dir=${path.join(directory, 'kubelet')}`,
    `--cert-dir=${path.join(directory, 'kubelet/pki')}`,
    `--node-ip=${NODE_ADDRESS}`,
  ]);
  await inside('cp', [files.authority, '/run/secrets/kubernetes.io/serviceaccount/ca.crt']);
  await launch('kube-network-policies', ['--hostname-override', NODE_NAME, '--disable-nri'], {
    KUBERNETES_SERVICE_HOST: NODE_ADDRESS,
    KUBERNETES_SERVICE_PORT: API_PORT,
  });
  const ready = ['wait', '--for=condition=Ready', `node/${NODE_NAME}`, '--timeout=5s'];
  await until('the node', () => inside('kubectl', ['--kubeconfig', kubeconfig, ...ready]));
}

async function until<T>(what: string, isThere: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    try {
      return await isThere();
    } catch (error) {
      if (Date.now() > deadline) throw new Error(`${what} does not become ready`, { cause: error });
    }
    await delay(300);
  }
}

async function readSysctls(): Promise<ReadonlyMap<string, string>> {
  return new Map(
    await Promise.all(
      SYSCTLS.map(async (name): Promise<[string, string]> => [name, await readFile(`/proc/sys/${name}`, 'utf8')]),
    ),
  );
}

async function writeSysctls(values: ReadonlyMap<string, string>): Promise<void> {
  for (const [name, value] of values) await writeFile(`/proc/sys/${name}`, value);
}

/** In every hierarchy, from the innermost: they can be removed once the processes in them have ended. */
async function removeCgroups(): Promise<void> {
  for (const hierarchy of [CGROUPS, ...(await readdir(CGROUPS)).map((name) => path.join(CGROUPS, name))]) {
    const group = path.join(hierarchy, CGROUP);
    await until(group, async () => removeCgroup(group));
  }
}

async function removeCgroup(group: string): Promise<void> {
  const entries = await readdir(group, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) if (entry.isDirectory()) await removeCgroup(path.join(group, entry.name));
  await rmdir(group).catch((error: unknown) => {
    if (!['ENOENT', 'ENOTDIR'].includes(errorCodeOf(error) ?? '')) throw error;
  });
}

/** Its processes end a moment after they were killed. */
async function removeDirectory(directory: string): Promise<void> {
  await until(directory, () => rm(directory, { recursive: true, force: true }));
}
