/** For each value of the chart others that it may have, so that a test can see whether it has an effect. */
import type { DocumentedValue, SchemaNode } from '../docs/helm-values.ts';

const OTHER_PEERS = [{ podSelector: { matchLabels: { other: 'peer' } } }];
const OTHER_MAP = { other: 'entry' };

/** By their paths, where neither the last name nor the type is enough. */
const BY_PATH: Readonly<Record<string, unknown>> = {
  nameOverride: 'other',
  fullnameOverride: 'other',
  'image.repository': 'other.example.com/darkroom',
  'image.digest': `sha256:${'1'.repeat(64)}`,
  'image.pullPolicy': 'Always',
  'image.pullSecrets': [{ name: 'other' }],
  publicUrl: 'https://other.example.com',
  listenAddress: '0.0.0.0',
  upstreams: [{ name: 'other', key: 'other' }],
  'upstreams[].name': 'other',
  'upstreams[].url': 'https://other.example.com/v1',
  'temporal.address': 'other.example.com:7234',
  'temporal.namespace': 'other',
  'store.url': 's3://other/bucket',
  'store.endpoint': 'http://other.example.com:9001',
  'store.publicEndpoint': 'https://other.example.com',
  'store.region': 'us-west-2',
  'egress.allow': [{ host: '10.99.0.0/16', port: 443 }],
  'egress.allow[].host': '10.98.0.0/16',
  'egress.deny': ['9.9.9.9'],
  'egress.ports': [443, 444],
  extraEnv: [{ name: 'NODE_OPTIONS', value: '--max-http-header-size=16384' }],
  extraVolumes: [{ name: 'other', emptyDir: {} }],
  extraVolumeMounts: [{ name: 'other', mountPath: '/other' }],
  'api.port': 8080,
  'api.trustedProxies': ['192.168.0.0/16'],
  'api.service.type': 'NodePort',
  'api.service.externalTrafficPolicy': 'Cluster',
  'ingress.extraHosts': ['other.example.com'],
  'networkPolicy.egress.postgresqlPorts': [5433],
  'networkPolicy.egress.extra': [{ to: OTHER_PEERS }],
  'metrics.prometheusRule.disabledAlerts': ['DarkroomNoWorker'],
  'workerDefaults.autoscaling.queueAgeMetric': 'other_metric',
  workers: [{ name: 'other', queues: ['media', 'generation', 'waiting', 'archiving', 'callbacks', 'maintenance'] }],
  'workers[].name': 'other',
  'workers[].queues': ['media', 'maintenance', 'generation'],
  'workerVersioning.buildId': 'other',
  'workerVersioning.previous': [{ tag: 'other' }],
  'workerVersioning.previous[].buildId': 'other',
  'workerVersioning.previous[].replicas': 7,
  podSecurityContext: { runAsNonRoot: true, runAsUser: 1001 },
  securityContext: { runAsUser: 1001 },
};

/** By the last name of their paths. */
const BY_NAME: Readonly<Record<string, unknown>> = {
  existingSecret: 'other',
  existingConfigMap: 'other',
  secretName: 'other',
  key: 'OTHER',
  caKey: 'other.crt',
  certKey: 'other.crt',
  keyKey: 'other.key',
  name: 'other',
  className: 'other',
  priorityClassName: 'other',
  tag: '9.9.9',
  digest: `sha256:${'2'.repeat(64)}`,
  sizeLimit: '7Gi',
  tmpSizeLimit: '7Gi',
  interval: '77s',
  scrapeTimeout: '7s',
  maxUnavailable: 7,
  resources: { limits: { memory: '7Gi' } },
  strategy: { type: 'Recreate', rollingUpdate: null },
  behavior: { scaleDown: { stabilizationWindowSeconds: 77 } },
  tolerations: [{ key: 'other', operator: 'Exists' }],
  affinity: { nodeAffinity: null, podAffinity: {} },
  topologySpreadConstraints: [{ maxSkew: 7, topologyKey: 'other', whenUnsatisfiable: 'ScheduleAnyway' }],
  annotations: OTHER_MAP,
  serviceAnnotations: OTHER_MAP,
  podAnnotations: OTHER_MAP,
  podLabels: OTHER_MAP,
  labels: OTHER_MAP,
  commonLabels: OTHER_MAP,
  alertLabels: OTHER_MAP,
  nodeSelector: OTHER_MAP,
};

/**
 * @param schema of the value.
 * @throws {Error} nothing is known that it could be.
 */
export function alternativesOf(
  { path, fallback }: DocumentedValue,
  schema: SchemaNode | undefined,
): readonly unknown[] {
  if (Object.hasOwn(BY_PATH, path)) return [BY_PATH[path]];
  if (path.startsWith('networkPolicy.') && Array.isArray(fallback)) return [OTHER_PEERS];
  const name = path.split('.').at(-1) ?? '';
  if (Object.hasOwn(BY_NAME, name)) return [BY_NAME[name]];
  if (name === 'peers') return [OTHER_PEERS];
  if (path.startsWith('secrets.')) return [{ existingSecret: 'other', key: 'OTHER' }];
  if (typeof fallback === 'number') return [fallback + 1];
  // One of them is what it was.
  if (typeof fallback === 'boolean' || schema?.['type'] === 'boolean') return [true, false];
  if (name === 'port') return [4711];
  throw new Error(`${path} needs an alternative in test/wide/helm-alternatives.ts`);
}
