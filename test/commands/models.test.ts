/**
 * `admin models`, without an installation: an operator's model files validated before any process loads them, and what
 * an editor reads.
 */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { modelFileSchema, providerFileSchema } from '../../src/catalogue/file-schemas.ts';
import { packageFile } from '../../src/config/package-root.ts';
import { PROTOCOLS } from '../../src/providers/protocols.ts';
import { definition } from '../catalogue/definitions.ts';
import { runAdminInHost } from './admin-command.ts';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-check-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

interface Checked {
  readonly files: number;
  readonly models: readonly string[];
  readonly builtIn?: number;
  readonly belowCost: readonly unknown[];
  readonly problems: readonly { readonly file: string; readonly problem: string }[];
}

async function check(where: string): Promise<{ readonly code: number | null; stderr: string; report: Checked }> {
  const { code, stdout, stderr } = await runAdminInHost(['models', 'check', where, '--json'], {});
  return { code, stderr, report: JSON.parse(stdout) as Checked };
}

describe('admin models check', () => {
  it('accepts a directory of valid files that depend on the embedded models', async () => {
    await writeFile(path.join(directory, 'a.json'), JSON.stringify(definition({ replacement: 'darkroom/scene' })));

    const { code, report, stderr } = await check(directory);

    assert.equal(code, 0, stderr);
    assert.equal(report.files, 1);
    assert.deepEqual(report.models, ['acme/images']);
    assert.ok((report.builtIn ?? 0) > 50);
    assert.deepEqual(report.problems, []);
  });

  it('warns of a model that sells below cost, and accepts it', async () => {
    const cost = { pricing: { unit: 'image', usd: '0.02' } } as const;
    const upstreams = [{ protocol: 'embedded', model: 'scene', cost }];
    const costly = definition({ routes: { default: { upstreams } }, pricing: { unit: 'image', usd: '0.01' } });
    await writeFile(path.join(directory, 'a.json'), JSON.stringify(costly));

    const { code, report, stderr } = await check(directory);

    assert.equal(code, 0, stderr);
    assert.deepEqual(report.belowCost, [
      {
        model: 'acme/images',
        problem: 'routes.default.upstreams.0.cost: examples.0 costs 0.02 USD and is sold for 0.01',
      },
    ]);
  });

  it('reports every problem of every file by its member, and fails', async () => {
    const http = {
      auth: { scheme: 'header' },
      submit: { path: "'/jobs", body: '{ "say": $now() }', headers: { cookie: "'a'" } },
      jobId: 'id',
      outputs: 'files',
    };
    const upstream = { protocol: 'http', baseUrl: 'https://api.example', model: 'm', http };
    const routes = { default: { upstreams: [upstream] } };
    const examples = [{ prompt: 'a fox' }, { prompt: '' }, { resolution: '1k' }];
    await writeFile(path.join(directory, 'a.json'), JSON.stringify(definition({ routes, examples })));
    await writeFile(
      path.join(directory, 'b.json'),
      JSON.stringify({ ...definition(), name: 'b', typicalSeconds: -1, created: 'yesterday' }),
    );
    await writeFile(path.join(directory, 'c.json'), JSON.stringify(definition({ name: 'darkroom/scene' })));

    const { code, report, stderr } = await check(directory);

    assert.equal(code, 1);
    assert.match(stderr, /^3 of the files would be rejected$/m);
    const where = 'routes.default.upstreams.0.http';
    const problemsOf = (name: string) =>
      report.problems.filter(({ file }) => file === path.join(directory, name)).map(({ problem }) => problem);
    assert.deepEqual(problemsOf('a.json'), [
      `${where}.submit.path: not JSONata: String literal must be terminated by a matching quote at character 6`,
      `${where}.submit.body: $now is not available here`,
      `${where}.auth.name: scheme header needs it`,
      `${where}.submit.headers.cookie: cookie is not for a model file to set: auth sends the credential`,
      `${where}.poll: it and jobId need one another`,
      'examples.1: invalid input: prompt: minLength: got 0, want 1',
      'examples.2: invalid input: missing property: prompt',
    ]);
    assert.deepEqual(problemsOf('b.json').toSorted(), [
      'invalid model file: created: type: got string, want integer',
      'invalid model file: typicalSeconds: minimum: got -1, want 0',
    ]);
    assert.match(problemsOf('c.json').join(), /^name: .*scene\.json has darkroom\/scene already$/);
  });

  it('counts the files of providers too, and what depends on one that is invalid', async () => {
    const own = path.join(directory, 'providers/acme');
    await mkdir(own, { recursive: true });
    const provider = {
      name: 'acme',
      title: 'Acme',
      checkedAt: '2026-11-27',
      upstream: { protocol: 'replicate', baseUrl: 'https://api.acme.example' },
    };
    await writeFile(path.join(own, 'provider.json'), JSON.stringify(provider));
    const routes = { default: { upstreams: [{ provider: 'acme', model: 'm' }] } };
    for (const name of ['a', 'b']) {
      await writeFile(path.join(own, `${name}.json`), JSON.stringify({ ...definition({ name }), routes }));
    }
    const good = await check(directory);
    assert.equal(good.code, 0, good.stderr);
    assert.deepEqual([good.report.files, good.report.models], [3, ['a', 'b']]);

    const upstream = { ...provider.upstream, protocol: 'unheard-of' };
    await writeFile(path.join(own, 'provider.json'), JSON.stringify({ ...provider, upstream }));
    const bad = await check(directory);
    assert.equal(bad.code, 1);
    assert.match(bad.stderr, /^1 of the files would be rejected, and with them 2 that refer to a provider$/m);
    assert.deepEqual(
      bad.report.problems.map(({ file, problem }) => [path.basename(file), problem.split(',')[0]]),
      [['provider.json', 'upstream.protocol: there is no "unheard-of"']],
    );
    assert.deepEqual(bad.report.models, []);
  });

  it('recognizes the directory of the embedded models', async () => {
    const { code, report } = await check(packageFile('models'));

    assert.equal(code, 0);
    assert.deepEqual(report.problems, []);
    const paths = await readdir(packageFile('models'), { recursive: true });
    assert.equal(report.files, paths.filter((name) => name.endsWith('.json')).length);
    assert.ok(report.models.includes('darkroom/scene'));
    assert.equal(report.builtIn, undefined);
  });

  it('reports a directory that does not exist', async () => {
    const { code, report } = await check(path.join(directory, 'nowhere'));

    assert.equal(code, 1);
    assert.deepEqual(report.problems, [
      { file: path.join(directory, 'nowhere'), problem: 'there is no such file or directory' },
    ]);
  });
});

describe('admin models schema', () => {
  it('prints the JSON Schema of a model file or a provider file, and nothing else', async () => {
    for (const [args, schema] of [
      [[], modelFileSchema(PROTOCOLS)],
      [['model'], modelFileSchema(PROTOCOLS)],
      [['provider'], providerFileSchema(PROTOCOLS)],
    ] as const) {
      const { code, stdout, stderr } = await runAdminInHost(['models', 'schema', ...args], {});

      assert.deepEqual([code, stderr], [0, '']);
      assert.equal(stdout, `${JSON.stringify(schema, null, 2)}\n`);
    }
  });

  it('rejects another kind', async () => {
    const { code, stdout, stderr } = await runAdminInHost(['models', 'schema', 'upstream'], {});

    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, /upstream.*Allowed choices are model, provider/);
  });
});
