/** The Helm chart's generated files are current, and each of its values is documented. Its objects: test/wide/helm.test.ts. */
import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { parse, parseAllDocuments } from 'yaml';
import { packageFile } from '../../src/config/package-root.ts';
import { VARIABLES } from '../../src/config/variables.ts';
import { TASK_QUEUES } from '../../src/domain/workflow-ids.ts';
import { documentedValues } from './helm-values.ts';
import type { SchemaNode } from './helm-values.ts';
import { composeImage } from '../deploy/compose-file.ts';
import { CHART, OF_STANDALONE, renderHelmChart } from './render-helm-chart.ts';

const read = (file: string): Promise<string> => readFile(packageFile(`${CHART}/${file}`), 'utf8');

async function schema(): Promise<SchemaNode> {
  return JSON.parse(await read('values.schema.json')) as SchemaNode;
}

interface Containers {
  readonly initContainers?: readonly { readonly name: string; readonly image: string }[];
  readonly containers: readonly { readonly name: string; readonly image: string }[];
}

/** An object of `examples/backing.yaml`. */
interface Backing {
  readonly kind: string;
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: { readonly template?: { readonly spec: Containers } };
}

/** Paths of the objects that a schema describes by their properties. */
function pathsOf(node: SchemaNode, prefix = ''): readonly string[] {
  return Object.entries(node.properties ?? {}).flatMap(([name, child]) => [
    prefix + name,
    ...pathsOf(child, `${prefix}${name}.`),
  ]);
}

describe('the Helm chart', () => {
  for (const [file, text] of renderHelmChart()) {
    it(`has the ${file} that its sources render to`, async () => {
      assert.equal(
        await readFile(packageFile(file), 'utf8'),
        text,
        'run: npm run ts -- test/docs/render-helm-chart.ts',
      );
    });
  }

  it('documents every value', async () => {
    const values = documentedValues(await read('values.yaml'), await schema());

    assert.ok(values.length > 100, `only ${values.length} values`);
    assert.deepEqual(
      values.filter(({ meaning }) => meaning === '').map(({ path }) => path),
      [],
    );
    const page = await read('README.md');
    assert.deepEqual(
      values.filter(({ path }) => !page.includes(`| \`${path}\` `)).map(({ path }) => path),
      [],
    );
  });

  it('has a default for every value of its schema', async () => {
    const defaults = parse(await read('values.yaml')) as Record<string, unknown>;
    const has = (path: string): boolean => {
      let node: unknown = defaults;
      for (const name of path.split('.')) {
        if (typeof node !== 'object' || node === null || !Object.hasOwn(node, name)) return false;
        node = (node as Record<string, unknown>)[name];
      }
      return true;
    };

    // `global` comes from a chart around this one, and `config` has the names of all settings.
    const paths = pathsOf(await schema()).filter((path) => path !== 'global' && !path.startsWith('config.'));
    assert.deepEqual(
      paths.filter((path) => !has(path)),
      [],
    );
  });

  it('accepts exactly the queues of a worker', async () => {
    const { properties } = await schema();
    const queues = properties?.['workers']?.items?.properties?.['queues']?.items?.['enum'];

    assert.deepEqual(queues, Object.keys(TASK_QUEUES));
  });

  it('can set every setting', async () => {
    const { properties } = await schema();
    const configurable = properties?.['config']?.properties ?? {};
    const directory = packageFile(`${CHART}/templates`);
    const templates = await Promise.all(
      (await readdir(directory))
        .filter((name) => /\.(?:tpl|yaml)$/.test(name))
        .map((name) => read(`templates/${name}`)),
    );
    const text = templates.join('\n');

    // NODE_ENV is the image's.
    const ofPods = Object.keys(VARIABLES).filter((name) => !OF_STANDALONE.has(name) && name !== 'NODE_ENV');
    assert.deepEqual(
      ofPods.filter((name) => !Object.hasOwn(configurable, name) && !text.includes(`"${name}"`)),
      [],
    );
  });

  for (const page of [`${CHART}/README.md`, 'docs/operations/kubernetes.md']) {
    it(`shows in ${page} the least values that are tested`, async () => {
      const text = await readFile(packageFile(page), 'utf8');
      const blocks = [...text.matchAll(/^ *```yaml\n([^`]*publicUrl:[^`]*)^ *```$/gm)].map(([, yaml = '']) => yaml);

      assert.deepEqual(
        blocks.map((yaml) => parse(yaml) as unknown),
        [parse(await read('ci/minimal-values.yaml'))],
      );
    });
  }

  it('brings for a trial the scripts of deploy/docker/ and the images of docker-compose.yml', async () => {
    const objects = parseAllDocuments(await read('examples/backing.yaml')).map(
      (document) => document.toJS() as Backing,
    );
    const scripts = objects.find(({ kind }) => kind === 'ConfigMap')?.data ?? {};
    const containers = objects.flatMap(({ spec }) => {
      const pod = spec?.template?.spec;
      return pod === undefined ? [] : [...(pod.initContainers ?? []), ...pod.containers];
    });

    assert.deepEqual(scripts, {
      'create-databases.sh': await readFile(packageFile('deploy/docker/postgres/create-databases.sh'), 'utf8'),
      'setup-schema.sh': await readFile(packageFile('deploy/docker/temporal/setup-schema.sh'), 'utf8'),
      'dynamic-config.yaml': await readFile(packageFile('deploy/docker/temporal/dynamic-config.yaml'), 'utf8'),
    });
    for (const [name, service] of [
      ['postgres', 'postgres'],
      ['schema', 'temporal-schema'],
      ['temporal', 'temporal'],
    ] as const) {
      assert.equal(containers.find((container) => container.name === name)?.image, composeImage(service).join(':'));
    }
  });

  it('has a version of the program', async () => {
    const { version } = JSON.parse(await readFile(packageFile('package.json'), 'utf8')) as { version: string };
    const { appVersion } = parse(await read('Chart.yaml')) as { appVersion: string };

    assert.equal(appVersion, version);
  });
});
