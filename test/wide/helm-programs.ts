/** Helm and kubeconform, which have no npm packages: built from their Go modules once (test/deploy/go-programs.ts). */
import path from 'node:path';
import { obtainGoPrograms, whyNoGoPrograms } from '../deploy/go-programs.ts';
import type { GoPrograms } from '../deploy/go-programs.ts';

/** The major releases of Helm that the chart supports, by a release of each. */
export const HELM_VERSIONS = ['3.22.0', '4.3.1'] as const;
export type HelmVersion = (typeof HELM_VERSIONS)[number];

const KUBECONFORM: GoPrograms = {
  directory: 'kubeconform-0.8.0',
  version: 'v0.8.0',
  packages: { kubeconform: 'github.com/yannh/kubeconform/cmd/kubeconform' },
};

function helmOf(version: HelmVersion): GoPrograms {
  const [major] = version.split('.');
  return {
    directory: `helm-${version}`,
    version: `v${version}`,
    packages: { helm: `helm.sh/helm/v${major}/cmd/helm` },
  };
}

/** For the `skip` of a test; false if all can be had. */
export function whyNoHelm(): string | false {
  const [problem = false] = [...HELM_VERSIONS.map(helmOf), KUBECONFORM].map(whyNoGoPrograms).filter(Boolean);
  return problem && `no Helm to test with: ${problem}`;
}

/** @returns the executable. */
export async function obtainHelm(version: HelmVersion): Promise<string> {
  return path.join(await obtainGoPrograms(helmOf(version)), 'helm');
}

/** @returns the executable. */
export async function obtainKubeconform(): Promise<string> {
  return path.join(await obtainGoPrograms(KUBECONFORM), 'kubeconform');
}
