/** The programs of a Kubernetes node, which no package of Debian or npm has: built from their Go modules once. */
import { packageFile } from '../../src/config/package-root.ts';
import { obtainGoPrograms, whyNoGoPrograms } from '../deploy/go-programs.ts';
import type { GoPrograms } from '../deploy/go-programs.ts';

export const KUBERNETES_VERSION = '1.34.4';

const KUBERNETES: GoPrograms = {
  directory: `kubernetes-${KUBERNETES_VERSION}`,
  version: `v${KUBERNETES_VERSION}`,
  module: packageFile('test/cluster/programs'),
  packages: {
    coredns: './coredns',
    etcd: './etcd',
    pause: './pause',
    'kube-network-policies': 'sigs.k8s.io/kube-network-policies/cmd',
    ...Object.fromEntries(
      ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubelet', 'kube-proxy', 'kubectl'].map(
        (name) => [name, `k8s.io/kubernetes/cmd/${name}`],
      ),
    ),
  },
  variables: {
    'k8s.io/component-base/version.gitVersion': `v${KUBERNETES_VERSION}`,
    'k8s.io/component-base/version.gitMajor': '1',
    'k8s.io/component-base/version.gitMinor': '34',
  },
};

export function whyNoKubernetes(): string | false {
  return whyNoGoPrograms(KUBERNETES);
}

/** @returns the directory that contains them. */
export function obtainKubernetes(): Promise<string> {
  return obtainGoPrograms(KUBERNETES);
}
