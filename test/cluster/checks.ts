/** What an installation in a cluster must do, as its users and operators see it. */
import type { Check } from '../containers/checks.ts';
import type { ContainerClient } from '../containers/client.ts';
import { OPENAI_CHECKS } from '../containers/openai-checks.ts';
import { MEDIA_CHECKS } from '../containers/task-checks.ts';
import type { Cluster } from './cluster.ts';
import { CONFINEMENT_CHECKS } from './confinement-checks.ts';
import { DISRUPTION_CHECKS } from './disruption-checks.ts';
import { RELEASE_CHECKS } from './release-checks.ts';

export interface ClusterContext {
  readonly cluster: Cluster;
  readonly client: ContainerClient;
}

export type ClusterCheck = Check<ClusterContext>;

export const CLUSTER_CHECKS: readonly ClusterCheck[] = [
  {
    name: '`helm test` reaches the api',
    async check({ cluster }) {
      await cluster.helm('test', 'darkroom');
      return undefined;
    },
  },
  {
    name: 'an account and a key are made by the commands of the notes',
    async check({ cluster, client }) {
      await cluster.admin('accounts', 'create', '--name', 'first', '--usd', '50');
      client.key = ((await cluster.admin('keys', 'create')) as { apiKey: string }).apiKey;
      return undefined;
    },
  },
  // An image, a video and speech.
  ...MEDIA_CHECKS.slice(0, 3),
  // Text in both dialects, also streamed.
  ...OPENAI_CHECKS.slice(0, 2),
  ...CONFINEMENT_CHECKS,
  ...DISRUPTION_CHECKS,
  ...RELEASE_CHECKS,
];
