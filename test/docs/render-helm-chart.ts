/**
 * Renders the generated files of the Helm chart: the settings in `values.schema.json` and `files/settings.txt`, their
 * defaults in `files/defaults.json`, the table of values in its README, and the copies of the alerts and the dashboard, because a chart reads no file outside
 * of itself. Run by itself it writes them: `npm run ts -- test/docs/render-helm-chart.ts`
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageFile } from '../../src/config/package-root.ts';
import { VARIABLES } from '../../src/config/variables.ts';
import type { Variable } from '../../src/config/variables.ts';
import { documentedValues } from './helm-values.ts';
import type { SchemaNode } from './helm-values.ts';
import { table } from './markdown-table.ts';

export const CHART = 'deploy/helm';

/** Set by the templates, from values with names of their own, or without meaning in a container. */
const SET_BY_THE_CHART: ReadonlySet<string> = new Set([
  'HOST',
  'PORT',
  'PUBLIC_URL',
  'TLS_CERT_FILE',
  'TLS_KEY_FILE',
  'TRUSTED_PROXIES',
  'ADMIN_HOST',
  'ADMIN_PORT',
  'METRICS_HOST',
  'METRICS_PORT',
  'TEMPORAL_ADDRESS',
  'TEMPORAL_NAMESPACE',
  'TEMPORAL_TLS',
  'TEMPORAL_TLS_CA_FILE',
  'TEMPORAL_TLS_CERT_FILE',
  'TEMPORAL_TLS_KEY_FILE',
  'STORE_URL',
  'S3_ENDPOINT',
  'S3_PUBLIC_ENDPOINT',
  'S3_REGION',
  'MODELS_DIR',
  'EGRESS_ALLOW',
  'EGRESS_DENY',
  'EGRESS_PORTS',
  'WORKER_QUEUES',
  'WORKER_BUILD_ID',
  'SCRATCH_DIR',
  'NODE_ENV',
]);

/** Of `npm start` alone. */
export const OF_STANDALONE: ReadonlySet<string> = new Set([
  'DARKROOM_EMBEDDED',
  'DATA_DIR',
  'TEMPORAL_PORT',
  'TEMPORAL_UI_PORT',
  'TEMPORAL_CLI_PATH',
  'POSTGRES_PORT',
]);

/** Grace periods and probes follow them, also where `config` has them removed. */
const TIMES_OF_PODS = ['DRAIN_SECONDS', 'SHUTDOWN_GRACE_SECONDS', 'UPSTREAM_GRACE_SECONDS', 'HANG_SECONDS'] as const;

/** Characters, of JSON: a longer one would make every line of the table as long. */
const LONGEST_DEFAULT = 60;

const TABLE = ['<!-- values -->\n\n', '\n<!-- /values -->'] as const;

/** Every generated file, by its path below the root. */
export function renderHelmChart(): ReadonlyMap<string, string> {
  const schema = renderSchema();
  return new Map([
    [`${CHART}/values.schema.json`, `${JSON.stringify(schema, undefined, 2)}\n`],
    [`${CHART}/files/settings.txt`, `${namesOfSettings().join('\n')}\n`],
    [`${CHART}/files/defaults.json`, `${JSON.stringify(defaultsOfTimes(), undefined, 2)}\n`],
    [`${CHART}/files/alerts.yml`, read('deploy/docker/prometheus/alerts.yml')],
    [`${CHART}/files/darkroom.json`, read('deploy/docker/grafana/darkroom.json')],
    [`${CHART}/README.md`, withTable(read(`${CHART}/README.md`), renderTable(schema))],
  ]);
}

/** The written schema, with the settings that `config` accepts. */
function renderSchema(): SchemaNode {
  const schema = JSON.parse(read(`${CHART}/values.schema.json`)) as SchemaNode & {
    properties: { config: SchemaNode };
  };
  const settings = Object.entries<Variable>(VARIABLES).filter(
    ([name, { kind }]) => kind !== 'secret' && !SET_BY_THE_CHART.has(name) && !OF_STANDALONE.has(name),
  );
  schema.properties.config = {
    type: 'object',
    additionalProperties: false,
    properties: Object.fromEntries(settings.map(([name, variable]) => [name, schemaOf(variable)])),
  };
  return schema;
}

function schemaOf({ kind, choices, minimum, maximum, help: description }: Variable): SchemaNode {
  if (choices !== undefined) return { description, enum: choices };
  if (kind === 'boolean') return { description, type: 'boolean' };
  if (kind === 'integer') return { description, type: 'integer', minimum, maximum };
  return { description, type: ['string', 'number'] };
}

/** What `extraEnv` must not contain. */
function namesOfSettings(): string[] {
  return Object.entries<Variable>(VARIABLES).flatMap(([name, { kind }]) =>
    kind === 'secret' ? [name, `${name}_FILE`] : [name],
  );
}

/** What a process does without the setting, which grace periods and probes follow. */
function defaultsOfTimes(): Readonly<Record<string, number>> {
  return Object.fromEntries(TIMES_OF_PODS.map((name) => [name, Number(VARIABLES[name].fallback)]));
}

function withTable(text: string, rendered: string): string {
  const [before = '', rest] = text.split(TABLE[0]);
  const after = rest?.split(TABLE[1])[1];
  if (after === undefined) throw new Error(`the README of ${CHART} has no place for the table of values`);
  return `${before}${TABLE[0]}${rendered}${TABLE[1]}${after}`;
}

function renderTable(schema: SchemaNode): string {
  const rows = documentedValues(read(`${CHART}/values.yaml`), schema).map(({ path: name, fallback, meaning }) => [
    `\`${name}\``,
    defaultOf(fallback),
    meaning.replaceAll('<', '\\<'),
  ]);
  return table(['value', 'default', 'meaning'], rows);
}

/** @param fallback undefined for the fields of a list's entries. */
function defaultOf(fallback: unknown): string {
  if (fallback === undefined) return '';
  const text = JSON.stringify(fallback);
  return text.length > LONGEST_DEFAULT ? 'in `values.yaml`' : `\`${text}\``;
}

function read(file: string): string {
  return readFileSync(packageFile(file), 'utf8');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [file, text] of renderHelmChart()) {
    mkdirSync(path.dirname(packageFile(file)), { recursive: true });
    writeFileSync(packageFile(file), text);
  }
}
