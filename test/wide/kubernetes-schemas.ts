/**
 * JSON schemas of Kubernetes' objects and of Prometheus Operator's, for kubeconform, made from what their Go modules
 * contain: the OpenAPI document of Kubernetes, and the CRDs. Strict, as `kubectl apply --validate=strict` is: a field
 * that is not described is an error.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { cacheDirectory } from '../deploy/go-programs.ts';

/** The oldest minor release that the chart supports, and the newest. */
export const KUBERNETES_VERSIONS = ['1.30.14', '1.37.2'] as const;
const PROMETHEUS_OPERATOR_VERSION = '0.85.0';
const CUSTOM_RESOURCES = ['servicemonitors', 'prometheusrules'];
const DOWNLOAD_TIMEOUT_MS = 10 * 60_000;

/** JSON as it is in the documents. */
type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type JsonObject = { [key: string]: Json };

/** @returns the directory of `<kind>-<group>-<version>.json`, as kubeconform names them. */
export function obtainKubernetesSchemas(version: string): Promise<string> {
  return obtain(`kubernetes-schemas-${version}`, `k8s.io/kubernetes@v${version}`, async (module) => {
    const text = await readFile(path.join(module, 'api/openapi-spec/swagger.json'), 'utf8');
    return schemasOfKinds((JSON.parse(text) as { definitions: Record<string, JsonObject> }).definitions);
  });
}

/** @returns the directory of `<kind>-<group>-<version>.json`, for the kinds that the chart makes. */
export function obtainOperatorSchemas(): Promise<string> {
  const module = `github.com/prometheus-operator/prometheus-operator@v${PROMETHEUS_OPERATOR_VERSION}`;
  return obtain(`prometheus-operator-schemas-${PROMETHEUS_OPERATOR_VERSION}`, module, async (directory) => {
    const files = CUSTOM_RESOURCES.map((name) =>
      path.join(directory, 'example/prometheus-operator-crd', `monitoring.coreos.com_${name}.yaml`),
    );
    const texts = await Promise.all(files.map((file) => readFile(file, 'utf8')));
    return new Map(texts.flatMap((text) => schemasOfCrd(parse(text) as CustomResourceDefinition)));
  });
}

/** Stores what a module contains, once; the module itself, hundreds of megabytes, is removed again. */
async function obtain(
  name: string,
  module: string,
  read: (directory: string) => Promise<ReadonlyMap<string, Json>>,
): Promise<string> {
  const directory = path.join(cacheDirectory(), name);
  if (existsSync(directory)) return directory;
  await mkdir(cacheDirectory(), { recursive: true });
  const making = await mkdtemp(`${directory}-`);
  try {
    const schemas = await read(await downloadModule(path.join(making, 'modules'), module));
    await mkdir(path.join(making, 'schemas'));
    for (const [file, schema] of schemas) {
      await writeFile(path.join(making, 'schemas', file), JSON.stringify(schema));
    }
    // Another run may have been faster: then its directory, with the same files, is in the way.
    await rename(path.join(making, 'schemas'), directory).catch((error: unknown) => {
      if (!existsSync(directory)) throw error;
    });
  } finally {
    await rm(making, { recursive: true, force: true });
  }
  return directory;
}

/** @returns where it is unpacked. */
async function downloadModule(cache: string, module: string): Promise<string> {
  const { stdout } = await promisify(execFile)('go', ['mod', 'download', '-json', module], {
    // Writable, so that it can be removed; -modcacherw is not in force where GOFLAGS has something else.
    env: { ...process.env, GOMODCACHE: cache, GOFLAGS: '-modcacherw' },
    timeout: DOWNLOAD_TIMEOUT_MS,
  });
  return (JSON.parse(stdout) as { Dir: string }).Dir;
}

interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** Of each kind, with all that it refers to. */
function schemasOfKinds(definitions: Readonly<Record<string, JsonObject>>): ReadonlyMap<string, Json> {
  const strict = Object.fromEntries(
    Object.entries(definitions).map(([name, definition]) => [name, strictOf(name, definition)]),
  );
  const schemas = new Map<string, Json>();
  for (const [name, definition] of Object.entries(definitions)) {
    const kinds = (definition['x-kubernetes-group-version-kind'] ?? []) as unknown as readonly GroupVersionKind[];
    const [only] = kinds;
    // Options of deletions and the like belong to every group.
    if (only === undefined || kinds.length > 1) continue;
    const used = new Set<string>();
    collectReferences(strict, name, used);
    const schema = {
      $ref: `#/definitions/${name}`,
      definitions: Object.fromEntries([...used].map((each) => [each, strict[each] ?? true])),
    };
    schemas.set(fileOf(only), schema);
  }
  return schemas;
}

function fileOf({ group, version, kind }: GroupVersionKind): string {
  const [first = ''] = group.split('.');
  return `${[kind, first, version].filter((part) => part !== '').join('-')}.json`.toLowerCase();
}

function strictOf(name: string, definition: JsonObject): Json {
  if (name.endsWith('.intstr.IntOrString')) return { type: ['string', 'integer'] };
  if (name.endsWith('.resource.Quantity')) return { type: ['string', 'number'] };
  return closed(definition);
}

/** The same schema, with objects that have no fields but the described ones. */
function closed(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(closed);
  if (schema === null || typeof schema !== 'object') return schema;
  const copy = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, closed(value)]));
  const isOpen = 'additionalProperties' in schema || schema['x-kubernetes-preserve-unknown-fields'] === true;
  const { properties, type } = schema;
  // A field may be called `properties` itself, but has no type then.
  if (type !== 'object' || isOpen || properties === undefined || properties === null) return copy;
  return { ...copy, additionalProperties: false };
}

function collectReferences(definitions: Readonly<Record<string, Json>>, name: string, found: Set<string>): void {
  if (found.has(name)) return;
  found.add(name);
  const text = JSON.stringify(definitions[name]);
  for (const [, reference = ''] of text.matchAll(/"\$ref":"#\/definitions\/([^"]+)"/g)) {
    collectReferences(definitions, reference, found);
  }
}

interface CustomResourceDefinition {
  readonly spec: {
    readonly group: string;
    readonly names: { readonly kind: string };
    readonly versions: readonly { readonly name: string; readonly schema: { readonly openAPIV3Schema: JsonObject } }[];
  };
}

function schemasOfCrd({ spec }: CustomResourceDefinition): readonly (readonly [string, Json])[] {
  return spec.versions.map(({ name, schema }) => [
    fileOf({ group: spec.group, version: name, kind: spec.names.kind }),
    closed(schema.openAPIV3Schema),
  ]);
}
