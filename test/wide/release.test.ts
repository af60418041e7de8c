/**
 * A release up to the point where it is published: what `npm run release` makes, as its users get it, and the workflow
 * that publishes it. Needs Helm, Python and Go; no Docker.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { packageFile } from '../../src/config/package-root.ts';
import { obtainGoPrograms, whyNoGoPrograms } from '../deploy/go-programs.ts';
import type { GoPrograms } from '../deploy/go-programs.ts';
import { PYTHON_TOOLS } from '../sdk/python-sources.ts';
import { readValues } from './helm-chart.ts';
import { obtainHelm, whyNoHelm } from './helm-programs.ts';
import { obtainPackage, whyNoPackage } from './python-environment.ts';
import { startPublishing } from './release-publishing.ts';

const run = promisify(execFile);
const OUTPUT_BYTES = 64 * 1024 * 1024;
const WORKFLOW = '.github/workflows/release.yml';
/** With capitals: the registry has lower-case names, and npm compares the URL with GitHub's spelling. */
const REPOSITORY = 'Example-Org/Darkroom';
const ACTIONLINT: GoPrograms = {
  directory: 'actionlint-1.7.12',
  version: 'v1.7.12',
  packages: { actionlint: 'github.com/rhysd/actionlint/cmd/actionlint' },
};

interface Release {
  readonly version: string;
  readonly image?: string;
  readonly artifacts: readonly {
    readonly kind: string;
    readonly file: string;
    readonly sizeBytes: number;
    readonly sha256: string;
  }[];
}

describe('npm run release -- --dry-run', { skip: whyNoHelm() || whyNoPackage(PYTHON_TOOLS), timeout: 900_000 }, () => {
  let directory: string;
  let output: string;
  let programs: readonly string[];
  let helm: string;
  let printed: string;
  let release: Release;
  before(async () => {
    helm = await obtainHelm('4.3.1');
    programs = ['--helm', helm, '--python', await obtainPackage(PYTHON_TOOLS)];
    directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-release-'));
    output = path.join(directory, 'release');
    printed = (await make('--dry-run', '--repository', REPOSITORY, '--output', output, ...programs)).stdout;
    release = JSON.parse(await readFile(path.join(output, 'release.json'), 'utf8')) as Release;
  });
  after(() => rm(directory, { recursive: true, force: true }));

  const make = (...args: readonly string[]) =>
    run(process.execPath, [packageFile('dist/scripts/release/run.js'), ...args], { cwd: packageFile('.') });
  const fileOf = (kind: string, ending = ''): string => {
    const { file } = release.artifacts.find((each) => each.kind === kind && each.file.endsWith(ending)) ?? {};
    assert.ok(file !== undefined, `no ${kind} ${ending}`);
    return path.join(output, file);
  };
  const unpack = async (archive: string, name: string): Promise<string> =>
    (await run('tar', ['-xzOf', archive, name], { maxBuffer: OUTPUT_BYTES })).stdout;

  it('makes every file, with its size and checksum, and nothing else', async () => {
    const { artifacts, version } = release;
    assert.deepEqual(
      artifacts.map(({ kind }) => kind),
      ['npm', 'npm', 'pypi', 'pypi', 'cli', 'chart', 'sbom'],
    );
    assert.deepEqual(
      (await readdir(output)).toSorted(),
      [...artifacts.map(({ file }) => file), 'SHA256SUMS', 'notes.md', 'release.json'].toSorted(),
    );
    for (const { file, sizeBytes, sha256 } of artifacts) {
      const bytes = await readFile(path.join(output, file));
      assert.deepEqual([bytes.length, createHash('sha256').update(bytes).digest('hex')], [sizeBytes, sha256], file);
      assert.ok(file.includes(version), file);
    }
    assert.deepEqual(
      await readFile(path.join(output, 'SHA256SUMS'), 'utf8'),
      artifacts.map(({ sha256, file }) => `${sha256}  ${file}\n`).join(''),
    );
    assert.match(printed, /nothing was published/);
  });

  it('makes the same bytes again', async () => {
    const again = path.join(directory, 'again');
    await make('--dry-run', '--repository', REPOSITORY, '--output', again, ...programs);

    const sums = async (of: string): Promise<readonly string[]> => {
      const lines = (await readFile(path.join(of, 'SHA256SUMS'), 'utf8')).split('\n');
      // Helm stamps a chart with the time, and npm a bill of materials.
      return lines.filter((line) => /\.(?:whl|tar\.gz|mjs)$|sdk/.test(line));
    };
    assert.equal((await sums(output)).length, 5);
    assert.deepEqual(await sums(again), await sums(output));
  });

  it('packs npm packages that can be published and have their code', async () => {
    for (const [name, entry] of [
      ['darkroom-sdk', 'package/dist/index.js'],
      ['darkroom-ai-sdk-provider', 'package/dist/src/index.js'],
    ] as const) {
      const archive = path.join(output, `${name}-${release.version}.tgz`);
      const manifest = JSON.parse(await unpack(archive, 'package/package.json')) as Record<string, unknown>;
      assert.deepEqual([manifest['version'], manifest['private']], [release.version, undefined], name);
      // What npm compares with the provenance of the workflow.
      assert.deepEqual(manifest['repository'], {
        type: 'git',
        url: `git+https://github.com/${REPOSITORY}.git`,
        directory: `packages/${name === 'darkroom-sdk' ? 'sdk-js' : 'ai-sdk-provider'}`,
      });
      for (const field of ['scripts', 'devDependencies']) assert.equal(manifest[field], undefined, `${name} ${field}`);
      assert.ok((await unpack(archive, entry)).length > 100, name);
    }
    const provider = path.join(output, `darkroom-ai-sdk-provider-${release.version}.tgz`);
    const { dependencies } = JSON.parse(await unpack(provider, 'package/package.json')) as {
      dependencies: Record<string, string>;
    };
    assert.equal(dependencies['@darkroom/sdk'], release.version);
  });

  it('builds a Python package that can be published', async () => {
    const info = `darkroom_sdk-${release.version}`;
    const metadata = await unpack(fileOf('pypi', '.tar.gz'), `${info}/PKG-INFO`);
    assert.match(metadata, new RegExp(`^Version: ${release.version.replaceAll('.', '\\.')}$`, 'm'));
    assert.doesNotMatch(metadata, /Do Not Upload/);
    const { stdout } = await run('python3', ['-m', 'zipfile', '--list', fileOf('pypi', '.whl')]);
    assert.match(stdout, /darkroom\/_client\.py/);
  });

  it('packages a chart that runs the image of the release', async () => {
    const { image: _, ...values } = await readValues('ci/minimal-values.yaml');
    const file = path.join(directory, 'values.json');
    await writeFile(file, JSON.stringify(values));
    const { stdout } = await run(helm, ['template', 'darkroom', fileOf('chart'), '--values', file]);

    assert.equal(release.image, 'ghcr.io/example-org/darkroom');
    const images = new Set([...stdout.matchAll(/^ *image: (.*)$/gm)].map(([, image]) => image));
    assert.deepEqual([...images], [`"${release.image}:${release.version}"`]);
  });

  it('names no repository without one, and says that a release does', async () => {
    const without = path.join(directory, 'without');
    const { stdout } = await make('--dry-run', '--output', without, ...programs);
    assert.match(stdout, /before the release: --repository: the packages and the chart do not name it/);
    assert.doesNotMatch(printed, /--repository/);

    const made = JSON.parse(await readFile(path.join(without, 'release.json'), 'utf8')) as Release;
    assert.equal(made.image, undefined);
    const archive = path.join(without, `darkroom-sdk-${made.version}.tgz`);
    assert.doesNotMatch(await unpack(archive, 'package/package.json'), /"repository"/);
    const chart = path.join(without, `darkroom-${made.version}.tgz`);
    assert.match(await unpack(chart, 'darkroom/values.yaml'), /^ {2}repository: ''$/m);
  });

  it('copies a command-line client that runs alone, and lists what production installs', async () => {
    const { stdout } = await run(process.execPath, [fileOf('cli'), '--help'], { cwd: directory });
    assert.match(stdout, /^Usage: /);
    const { components } = JSON.parse(await readFile(fileOf('sbom'), 'utf8')) as { components: readonly unknown[] };
    assert.ok(components.length > 300);
    const notes = await readFile(path.join(output, 'notes.md'), 'utf8');
    assert.ok((await readFile(packageFile('CHANGELOG.md'), 'utf8')).includes(notes.trim()));
  });

  it('rejects what it cannot do, and says why', async () => {
    const empty = path.join(directory, 'empty');
    for (const [args, wanted] of [
      [[], /name either --dry-run or the --tag/],
      [['--dry-run', '--tag', 'v1.0.0'], /name either --dry-run or the --tag/],
      [['--dry'], /Unknown option '--dry'/],
      [['--tag', 'v99.0.0', '--output', empty], /--tag needs --repository/],
      [['--dry-run', '--repository', 'darkroom'], /--repository: "darkroom" is not owner\/name/],
      [['--tag', 'v99.0.0', '--repository', REPOSITORY, '--output', empty], /--tag: v99\.0\.0 is not v/],
      [['--dry-run', '--output', output], /release is not empty/],
      [['--dry-run', '--output', empty, '--python', '/nowhere/python3'], /building the Python package: .*No such file/],
    ] as const) {
      const failed = await make(...args).then(
        () => assert.fail(args.join(' ')),
        (error: unknown) => error as { code: number; stderr: string },
      );
      assert.equal(failed.code, 1, args.join(' '));
      assert.match(failed.stderr, wanted);
      assert.doesNotMatch(failed.stderr, /\n +at /);
    }
  });
});

describe('the workflow of a release', () => {
  interface Job {
    readonly permissions?: Readonly<Record<string, string>>;
    readonly if?: string;
    readonly steps: readonly {
      readonly uses?: string;
      readonly run?: string;
      readonly if?: string;
      readonly with?: Readonly<Record<string, unknown>>;
    }[];
  }
  let text: string;
  let jobs: Readonly<Record<string, Job>>;
  before(async () => {
    text = await readFile(packageFile(WORKFLOW), 'utf8');
    const workflow = parse(text) as { permissions: object; jobs: Record<string, Job> };
    assert.deepEqual(workflow.permissions, {});
    jobs = workflow.jobs;
  });

  it('has no problem that actionlint finds', { skip: whyNoGoPrograms(ACTIONLINT) }, async () => {
    const actionlint = path.join(await obtainGoPrograms(ACTIONLINT), 'actionlint');

    await run(actionlint, ['-no-color', '-shellcheck=', packageFile(WORKFLOW)]);
  });

  it('names every action by the hash of a commit, with its release beside it', () => {
    const uses = text.split('\n').filter((line) => /^\s*(?:- )?uses:/.test(line));

    assert.ok(uses.length > 10);
    for (const line of uses) assert.match(line, /uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
  });

  it('gives each job what it needs and no more', () => {
    const publishing = { packages: 'write', 'id-token': 'write' };
    assert.deepEqual(Object.fromEntries(Object.entries(jobs).map(([name, { permissions }]) => [name, permissions])), {
      files: { contents: 'read' },
      image: { contents: 'read', ...publishing },
      chart: publishing,
      npm: { 'id-token': 'write' },
      pypi: { 'id-token': 'write' },
      github: { contents: 'write', 'id-token': 'write' },
    });
    for (const { steps } of Object.values(jobs)) {
      // A name of a branch or tag in a script would be code.
      for (const { run: script = '' } of steps) assert.ok(!script.includes('${{'), script);
    }
  });

  it('publishes tags that are pushed, and nothing when it is started by hand, on a tag either', () => {
    const isRelease = "github.event_name == 'push' && github.ref_type == 'tag'";
    for (const [name, job] of Object.entries(jobs)) {
      const isPublishing = !['files', 'image'].includes(name);
      assert.equal(job.if, isPublishing ? isRelease : undefined, name);
    }
    for (const { if: condition, uses = '', run: script = '', with: inputs } of jobs['image']?.steps ?? []) {
      const isPublishing = /login-action|cosign/.test(uses + script);
      assert.equal(condition, isPublishing ? isRelease : undefined, uses);
      if (uses.includes('build-push-action')) assert.equal(inputs?.['push'], `\${{ ${isRelease} }}`);
    }
    assert.equal(text.split('github.ref_type').length, text.split(isRelease).length);
  });

  it('tags the image as the chart names it', () => {
    const build = jobs['image']?.steps.find(({ uses = '' }) => uses.includes('build-push-action'));

    assert.equal(build?.with?.['tags'], '${{ needs.files.outputs.image }}:${{ needs.files.outputs.version }}');
  });

  for (const [version, npmTag, kind] of [
    ['1.2.0', 'latest', '--prerelease=false'],
    ['1.2.0-rc.1', 'next', '--prerelease'],
  ] as const) {
    it(`publishes ${version} with the npm tag ${npmTag}, and at GitHub with ${kind}`, async () => {
      const publishing = await startPublishing(version);
      try {
        await publishing.run(jobs['npm']?.steps.at(-1)?.run);
        await publishing.run(jobs['github']?.steps.at(-1)?.run);
        const calls = await publishing.calls();

        const common = '--provenance --access public --tag';
        assert.deepEqual(
          calls.filter((call) => call.startsWith('npm publish')),
          [`npm publish ./darkroom-sdk-${version}.tgz ${common} ${npmTag}`],
        );
        const [created = '', ...others] = calls.filter((call) => call.startsWith('gh '));
        assert.deepEqual(others, []);
        assert.ok(created.startsWith(`gh release create v${version} --repo ${REPOSITORY} --verify-tag`), created);
        assert.ok(created.split(' ').includes(kind), created);
      } finally {
        await publishing.close();
      }
    });
  }
});
