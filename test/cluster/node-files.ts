/** The configuration of the processes of a node: addresses, credentials, containerd, the network of pods, kubelet. */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';

export const NODE_NAME = 'darkroom-node';
/** Of the link between this machine and the node, which leads nowhere else. */
export const OUTSIDE_ADDRESS = '10.213.88.1';
export const NODE_ADDRESS = '10.213.88.2';
export const POD_RANGE = '10.244.0.0/16';
export const SERVICE_RANGE = '10.96.0.0/16';
export const API_PORT = '6443';
const DNS_SERVICE = '10.96.0.10';
export const PAUSE_IMAGE = 'darkroom.invalid/pause:1';
/** In each hierarchy of control groups. */
export const CGROUP = 'darkroom-cluster';
const PODS_OF_NODE = '10.244.0.0/24';

export interface NodeFiles {
  readonly directory: string;
  readonly containerd: string;
  readonly kubelet: string;
  readonly kubeconfig: string;
  readonly nodeKubeconfig: string;
  readonly tokens: string;
  readonly adminToken: string;
  readonly serviceAccountKey: string;
  readonly serviceAccountPublicKey: string;
  /** Made by the API server: its certificate, followed by that of its authority. */
  readonly authority: string;
}

/** Writes them. @param directory of the run, with room for images. */
export async function writeNodeFiles(directory: string): Promise<NodeFiles> {
  const files = {
    directory,
    containerd: path.join(directory, 'containerd.toml'),
    kubelet: path.join(directory, 'kubelet.yaml'),
    kubeconfig: path.join(directory, 'kubeconfig'),
    nodeKubeconfig: path.join(directory, 'node-kubeconfig'),
    tokens: path.join(directory, 'tokens.csv'),
    adminToken: randomBytes(20).toString('hex'),
    serviceAccountKey: path.join(directory, 'service-account.key'),
    serviceAccountPublicKey: path.join(directory, 'service-account.pub'),
    authority: path.join(directory, 'apiserver/apiserver.crt'),
  };
  const nodeToken = randomBytes(20).toString('hex');
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  for (const name of ['apiserver', 'cni', 'kubelet', 'images']) await mkdir(path.join(directory, name));
  const secret = { mode: 0o600 };
  await writeFile(
    files.tokens,
    `${files.adminToken},admin,admin,"system:masters"\n${nodeToken},system:node:${NODE_NAME},node,"system:nodes"\n`,
    secret,
  );
  await writeFile(files.serviceAccountKey, privateKey.export({ type: 'pkcs1', format: 'pem' }), secret);
  await writeFile(files.serviceAccountPublicKey, publicKey.export({ type: 'spki', format: 'pem' }));
  await writeFile(files.kubeconfig, kubeconfig(files.authority, files.adminToken), secret);
  await writeFile(files.nodeKubeconfig, kubeconfig(files.authority, nodeToken), secret);
  await writeFile(files.containerd, containerdConfig(directory));
  await writeFile(path.join(directory, 'cni/10-pods.conflist'), networkConfig(directory));
  await writeFile(files.kubelet, kubeletConfig(directory));
  // No names but those of the cluster.
  await writeFile(path.join(directory, 'resolv.conf'), 'nameserver 127.0.0.1\n');
  return files;
}

function kubeconfig(authority: string, token: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      { name: 'node', cluster: { server: `https://${NODE_ADDRESS}:${API_PORT}`, 'certificate-authority': authority } },
    ],
    users: [{ name: 'user', user: { token } }],
    contexts: [{ name: 'node', context: { cluster: 'node', user: 'user' } }],
    'current-context': 'node',
  });
}

function containerdConfig(directory: string): string {
  return `version = 2
root = "${directory}/containerd"
state = "/run/containerd"
[grpc]
address = "/run/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
restrict_oom_score_adj = true
sandbox_image = "${PAUSE_IMAGE}"
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
conf_dir = "${directory}/cni"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
`;
}

function networkConfig(directory: string): string {
  return JSON.stringify({
    cniVersion: '0.4.0',
    name: 'pods',
    plugins: [
      {
        type: 'bridge',
        bridge: 'cni0',
        isGateway: true,
        hairpinMode: true,
        ipam: {
          type: 'host-local',
          dataDir: `${directory}/addresses`,
          ranges: [[{ subnet: PODS_OF_NODE }]],
          routes: [{ dst: '0.0.0.0/0' }],
        },
      },
    ],
  });
}

function kubeletConfig(directory: string): string {
  return JSON.stringify({
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    // The node is reached from this machine alone.
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: 'AlwaysAllow' },
    cgroupDriver: 'cgroupfs',
    cgroupRoot: `/${CGROUP}`,
    clusterDNS: [DNS_SERVICE],
    clusterDomain: 'cluster.local',
    containerRuntimeEndpoint: 'unix:///run/containerd/containerd.sock',
    failSwapOn: false,
    failCgroupV1: false,
    resolvConf: `${directory}/resolv.conf`,
    podLogsDir: `${directory}/logs-of-pods`,
    volumePluginDir: `${directory}/kubelet/volume-plugins`,
    // Of the machine's own disk and memory: its other users decide how full they are.
    evictionHard: {
      'memory.available': '100Mi',
      'nodefs.available': '1%',
      'nodefs.inodesFree': '1%',
      'imagefs.available': '1%',
    },
    // No image could be pulled again.
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
  });
}
