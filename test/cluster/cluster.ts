/** The commands of an operator of the cluster, and the installation in it as the documents make it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { packageFile } from '../../src/config/package-root.ts';
import type { RunAdmin } from '../containers/admin.ts';
import { ContainerClient } from '../containers/client.ts';
import { run } from '../containers/run.ts';
import { NODE_ADDRESS } from './node-files.ts';
import type { Node } from './node.ts';

export const NAMESPACE = 'darkroom';
const CHART = packageFile('deploy/helm');
const VALUES = packageFile('deploy/helm/values-trial.yaml');
/** Of values-trial.yaml. */
const ORIGIN = 'https://darkroom.localtest.me';
const AUTHORITY = '/data/caddy/pki/authorities/local/root.crt';
const ADMIN = ['node', 'dist/src/main.js', 'admin'];

export interface Programs {
  /** The directory of the programs of Kubernetes. */
  readonly kubernetes: string;
  /** The executable. */
  readonly helm: string;
}

export interface Pod {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly deletionTimestamp?: string;
  };
  readonly status: {
    readonly podIP?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

export class Cluster {
  readonly #environment: Readonly<Record<string, string>>;
  readonly #helm: string;
  readonly #node: Node;

  constructor(node: Node, { kubernetes, helm }: Programs) {
    this.#node = node;
    this.#helm = helm;
    const { directory, kubeconfig } = node.files;
    this.#environment = {
      PATH: `${kubernetes}${path.delimiter}${process.env['PATH']}`,
      KUBECONFIG: kubeconfig,
      // Of helm and kubectl.
      HOME: directory,
    };
  }

  kubectl(args: readonly string[], input?: string): Promise<string> {
    return run('kubectl', args, { environment: this.#environment, ...(input === undefined ? {} : { input }) });
  }

  /** In the namespace of the installation. */
  ours(...args: readonly string[]): Promise<string> {
    return this.kubectl(['--namespace', NAMESPACE, ...args]);
  }

  script(file: string): Promise<string> {
    return run('sh', [file], { environment: this.#environment });
  }

  helm(...args: readonly string[]): Promise<string> {
    return run(this.#helm, ['--namespace', NAMESPACE, ...args], { environment: this.#environment });
  }

  /** Upgrades, with further values (`name=value`). */
  upgrade(...values: readonly string[]): Promise<string> {
    return this.helm(...this.#release('upgrade'), ...values.flatMap((value) => ['--set', value]));
  }

  install(): Promise<string> {
    return this.helm(...this.#release('install'));
  }

  #release(command: string): readonly string[] {
    return [command, 'darkroom', CHART, '--values', VALUES, '--wait', '--timeout', '10m'];
  }

  /** Runs `admin` in a pod of the api. @returns what it prints as JSON. */
  readonly admin: RunAdmin = async (...args) =>
    JSON.parse(await this.ours('exec', 'deployment/darkroom-api', '--', ...ADMIN, ...args, '--json')) as unknown;

  /** Runs a script of the shell in the containers of a role. */
  shell(pod: string, script: string): Promise<string> {
    return this.ours('exec', pod, '--', 'sh', '-c', script);
  }

  /** Whether policies have an effect: what enforces them needs a kernel whose packet filter queues packets (nft_queue). */
  enforcesPolicies(): Promise<boolean> {
    return this.#node.inside('nft', ['list', 'table', 'inet', 'kube-network-policies']).then(
      () => true,
      () => false,
    );
  }

  /** A value of a Secret of ours. */
  async secret(name: string, key: string): Promise<string> {
    const value = await this.ours('get', 'secret', name, '--output', `jsonpath={.data.${key}}`);
    return Buffer.from(value, 'base64').toString('utf8');
  }

  /** Forwards a port while something uses it. @param use takes the origin, e.g. `http://127.0.0.1:40123`. */
  async forward<T>(target: string, port: number, use: (origin: string) => Promise<T>): Promise<T> {
    const child = spawn('kubectl', ['--namespace', NAMESPACE, 'port-forward', target, `:${port}`], {
      env: { ...process.env, ...this.#environment },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(child, 'exit');
    try {
      for await (const line of createInterface(child.stdout)) {
        const [, address] = /^Forwarding from (127\.0\.0\.1:\d+) /.exec(line) ?? [];
        if (address !== undefined) return await use(`http://${address}`);
      }
      throw new Error(`${target} cannot be forwarded`);
    } finally {
      child.kill();
      if (child.exitCode === null && child.signalCode === null) await ended;
    }
  }

  /** Those of a role that are not being removed. */
  async pods(component: 'api' | 'worker'): Promise<readonly Pod[]> {
    const selector = `app.kubernetes.io/component=${component}`;
    const { items } = JSON.parse(await this.ours('get', 'pods', '--selector', selector, '--output', 'json')) as {
      items: readonly Pod[];
    };
    return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  }

  async podOf(component: 'api' | 'worker'): Promise<Pod> {
    const [pod] = await this.pods(component);
    if (pod === undefined) throw new Error(`there is no pod of ${component}`);
    return pod;
  }

  /** Until all Deployments have the pods that they should have. */
  async waitForRollout(): Promise<void> {
    for (const name of ['darkroom-api', 'darkroom-worker-all']) {
      await this.ours('rollout', 'status', `deployment/${name}`, '--timeout=5m');
    }
  }

  /** What the proxy says of the installation. */
  async connect(): Promise<ContainerClient> {
    const proxy = ['--namespace', 'ingress-nginx', 'exec', 'deployment/proxy', '--', 'cat', AUTHORITY];
    return new ContainerClient(ORIGIN, await this.kubectl(proxy), NODE_ADDRESS);
  }

  /** What stands beside the chart: names, the services of the trial, its Secrets, and a proxy. */
  async prepare(): Promise<void> {
    const apply = ['apply', '--filename'];
    await this.kubectl([...apply, packageFile('test/cluster/manifests/dns.yaml')]);
    await this.kubectl([...apply, packageFile('deploy/helm/examples/backing.yaml')]);
    await this.script(packageFile('deploy/helm/examples/trial-secrets.sh'));
    await this.kubectl(['label', 'namespace', NAMESPACE, 'pod-security.kubernetes.io/enforce=restricted']);
    await this.kubectl([...apply, packageFile('test/cluster/manifests/proxy.yaml')]);
    for (const namespace of ['kube-system', 'darkroom-backing', 'ingress-nginx']) {
      const all = ['wait', 'deployment', '--all', '--for=condition=Available', '--timeout=5m'];
      await this.kubectl(['--namespace', namespace, ...all]);
    }
  }

  /** What happened, for a report of a failure. */
  async describe(): Promise<string> {
    const ask = async (...args: readonly string[]): Promise<string> => this.kubectl(args).catch(String);
    const events = await ask('get', 'events', '--all-namespaces', '--sort-by=.lastTimestamp');
    const ends = ['logs', '--all-containers', '--prefix', '--tail=15', '--ignore-errors'];
    const logs = ['api', 'worker', 'migrate'].map((component) =>
      ask('--namespace', NAMESPACE, ...ends, '--selector', `app.kubernetes.io/component=${component}`),
    );
    return [
      await ask('get', 'pods', '--all-namespaces', '--output', 'wide'),
      events.split('\n').slice(-30).join('\n'),
      ...(await Promise.all(logs)),
    ].join('\n\n');
  }
}

/** The name of our image in values-trial.yaml, with the tag of the chart. */
export async function imageOfChart(): Promise<string> {
  const chart = await readFile(path.join(CHART, 'Chart.yaml'), 'utf8');
  const [, version = ''] = /^appVersion: '?"?([\w.-]+)/m.exec(chart) ?? [];
  return `darkroom:${version}`;
}
