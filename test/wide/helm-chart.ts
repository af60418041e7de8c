/** The chart in `deploy/helm`, rendered: its objects, as far as the tests look into them. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { parse, parseAllDocuments } from 'yaml';
import { packageFile } from '../../src/config/package-root.ts';

export const CHART = packageFile('deploy/helm');
export const NAMESPACE = 'production';
const OUTPUT_BYTES = 16 * 1024 * 1024;

export interface Variable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly secretKeyRef: { readonly name: string; readonly key: string } };
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string; readonly scheme: string };
  readonly periodSeconds: number;
  readonly failureThreshold: number;
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env: readonly Variable[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly startupProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly lifecycle?: { readonly preStop: { readonly sleep: { readonly seconds: number } } };
  readonly resources: { readonly limits?: Readonly<Record<string, string>> };
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
}

export interface PodSpec {
  readonly automountServiceAccountToken: boolean;
  readonly enableServiceLinks: boolean;
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly serviceAccountName?: string;
  readonly terminationGracePeriodSeconds?: number;
  readonly initContainers?: readonly Container[];
  readonly containers: readonly [Container];
  readonly volumes?: readonly { readonly name: string }[];
}

export interface NetworkPolicyRule {
  readonly ports?: readonly { readonly protocol: string; readonly port: number | string }[];
  readonly to?: readonly {
    readonly ipBlock?: { readonly cidr: string; readonly except?: readonly string[] };
    readonly podSelector?: unknown;
    readonly namespaceSelector?: unknown;
  }[];
}

/** Only the fields that the tests read; kubeconform looks at all of them. */
interface Spec {
  readonly replicas?: number;
  readonly template: { readonly metadata: { readonly labels: Labels }; readonly spec: PodSpec };
  readonly podFailurePolicy?: { readonly rules: readonly object[] };
  readonly selector: Labels & { readonly matchLabels: Labels };
  readonly ports: readonly { readonly name: string; readonly port: number; readonly targetPort: string }[];
  readonly scaleTargetRef: { readonly name: string };
  readonly metrics: readonly {
    readonly type: string;
    readonly external?: {
      readonly metric: { readonly name: string; readonly selector: { readonly matchLabels: Labels } };
    };
  }[];
  readonly podSelector: { readonly matchLabels: Labels };
  readonly policyTypes: readonly string[];
  readonly egress: readonly NetworkPolicyRule[];
  readonly endpoints: readonly {
    readonly port: string;
    readonly relabelings: readonly { readonly targetLabel: string; readonly replacement: string }[];
  }[];
  readonly groups: readonly { readonly name: string; readonly rules: readonly Record<string, unknown>[] }[];
}

type Labels = Readonly<Record<string, string>>;

export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels: Labels; readonly annotations?: Labels };
  readonly spec: Spec;
  readonly data?: Labels;
}

/** Values, as in a values file. */
export type Values = { readonly [name: string]: unknown };

/** @param file in the chart, such as `ci/minimal-values.yaml`. */
export async function readValues(file: string): Promise<Values> {
  return parse(await readFile(path.join(CHART, file), 'utf8')) as Values;
}

/** A copy with another value at a path such as `workers.0.name`. */
export function withValue(values: Values, dotted: string, value: unknown): Values {
  const [first = '', ...rest] = dotted.split('.');
  if (rest.length === 0) return { ...values, [first]: value };
  const inner = (values[first] ?? {}) as Values | readonly unknown[];
  const changed = withValue(Object.fromEntries(Object.entries(inner)), rest.join('.'), value);
  return { ...values, [first]: Array.isArray(inner) ? Object.values(changed) : changed };
}

/** Runs a command of Helm on the chart. @throws with what Helm wrote to standard error, if it fails. */
export async function runHelm(helm: string, command: readonly string[], values: Values): Promise<string> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-helm-'));
  try {
    const file = path.join(directory, 'values.json');
    await writeFile(file, JSON.stringify(values));
    const args = [...command, CHART, '--namespace', NAMESPACE, '--values', file];
    const options = { maxBuffer: OUTPUT_BYTES, env: { ...process.env, HELM_CACHE_HOME: directory, KUBECONFIG: '' } };
    return (await promisify(execFile)(helm, args, options)).stdout;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** The text of all objects. @param kubernetes the version of the cluster, which Helm does not ask. */
export function renderText(helm: string, values: Values, kubernetes = '1.37.2'): Promise<string> {
  return runHelm(helm, ['template', 'darkroom', '--kube-version', kubernetes], values);
}

/** What Helm prints after an install, as the items of its list. Helm 3 would ask a cluster. */
export async function renderNotes(helm: string, values: Values): Promise<readonly string[]> {
  const text = await runHelm(helm, ['install', 'darkroom', '--dry-run=client'], values);
  const [, notes = ''] = text.split('\nNote:\n');
  return notes.split('\n').flatMap((line) => (line.startsWith('- ') ? [line.slice(2)] : []));
}

export async function render(helm: string, values: Values): Promise<readonly KubernetesObject[]> {
  return objectsOf(await renderText(helm, values));
}

export function objectsOf(text: string): readonly KubernetesObject[] {
  return parseAllDocuments(text)
    .map((document) => document.toJS() as KubernetesObject | null)
    .filter((object) => object !== null);
}

export function ofKind(objects: readonly KubernetesObject[], kind: string): readonly KubernetesObject[] {
  return objects.filter((object) => object.kind === kind);
}

/** The object of a kind whose name ends so. */
export function findObject(objects: readonly KubernetesObject[], kind: string, ending: string): KubernetesObject {
  const found = ofKind(objects, kind).find(({ metadata }) => metadata.name.endsWith(ending));
  if (found === undefined) throw new Error(`there is no ${kind} …${ending}`);
  return found;
}

/** The pods of Deployments, Jobs and of the test, by the names of their objects. */
export function podsOf(objects: readonly KubernetesObject[]): ReadonlyMap<string, PodSpec> {
  return new Map(
    objects.flatMap(({ kind, metadata, spec }) => {
      if (kind === 'Deployment' || kind === 'Job') return [[metadata.name, spec.template.spec] as const];
      // Its spec is that of the pod itself.
      return kind === 'Pod' ? [[metadata.name, spec as unknown as PodSpec] as const] : [];
    }),
  );
}

/** The environment of a pod's container, with a text made of its name for every secret. */
export function environmentOf(
  { containers: [{ env }] }: { readonly containers: readonly [Container] },
  secrets: (name: string) => string,
): NodeJS.ProcessEnv {
  return Object.fromEntries(
    env.map(({ name, value, valueFrom }) => [name, valueFrom === undefined ? value : secrets(name)]),
  );
}
