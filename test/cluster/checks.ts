/** What an installation in a cluster must do, as its users and operators see it. */
import type { Check } from '../containers/checks.ts';
import type { ContainerClient } from '../containers/client.ts';
import { OPENAI_CHECKS } from '../containers/openai-checks.ts';
import type { Cluster } from './cluster.ts';
import { CONFINEMENT_CHECKS } from './confinement-checks.ts';
import { DISRUPTION_CHECKS } from './disruption-checks.ts';
import { RELEASE_CHECKS } from './release-checks.ts';

export interface ClusterContext {
  readonly cluster: Cluster;
  readonly client: ContainerClient;
}

export type ClusterCheck = Check<ClusterContext>;

/** A small one for each modality. */
const MEDIA: readonly Readonly<Record<string, unknown>>[] = [
  { model: 'darkroom/scene', input: { prompt: 'a lighthouse at dusk' } },
  { model: 'darkroom/motion', input: { prompt: 'a forest', duration: 1, resolution: '480p', draft: true } },
  { model: 'darkroom/speech', input: { text: 'The night train departs.', voice: 'slt' } },
];

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
  ...MEDIA.map((body): ClusterCheck => ({
    name: `a task of ${String(body['model'])} succeeds, and its output is downloaded by its signed URL`,
    async check({ client }) {
      const [output] = (await client.makeMedia(body)).output ?? [];
      return `${output?.mimeType} of ${output?.sizeBytes} bytes`;
    },
  })),
  // Text in both dialects, also streamed.
  ...OPENAI_CHECKS.slice(0, 2),
  ...CONFINEMENT_CHECKS,
  ...DISRUPTION_CHECKS,
  ...RELEASE_CHECKS,
];
