/** What `npm run release` finds wrong with the version, the changelog and the container files of a release. */
import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { packageFile } from '../../src/config/package-root.ts';
import { readReleaseState } from '../../scripts/release/versions.ts';

const FILES = [
  'package.json',
  'CHANGELOG.md',
  'Dockerfile',
  'docker-compose.yml',
  'deploy/docker/images.lock.json',
  'deploy/helm/Chart.yaml',
  'packages/sdk-python/pyproject.toml',
  'packages/sdk-js/package.json',
  'packages/ai-sdk-provider/package.json',
];
const PACKAGES = ['sdk-js', 'ai-sdk-provider'];
const CHANGELOG = `# Changelog

## [Unreleased]

### Added

## [1.2.0] - 2026-12-01

### Added

- Something.

## [0.1.0] - 2026-11-23

The first release.
`;

describe('the state of a release', () => {
  let root: string;
  beforeEach(async () => {
    root = await mkdtemp(path.join(os.tmpdir(), 'darkroom-state-'));
    for (const file of FILES) {
      await mkdir(path.dirname(path.join(root, file)), { recursive: true });
      await cp(packageFile(file), path.join(root, file));
    }
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  const change = async (file: string, from: string | RegExp, to: string): Promise<void> => {
    const text = await readFile(path.join(root, file), 'utf8');
    const changed = text.replaceAll(from, to);
    assert.notEqual(changed, text, `${file} has no ${String(from)}`);
    await writeFile(path.join(root, file), changed);
  };
  const read = () => readReleaseState(root, PACKAGES);

  /** As a release is prepared: CONTRIBUTING.md, "Make a release". */
  async function prepare(): Promise<void> {
    const { version } = await read();
    for (const file of FILES.filter((name) => /(?:package\.json|Chart\.yaml|pyproject\.toml)$/.test(name))) {
      await change(file, version, '1.2.0');
    }
    await writeFile(path.join(root, 'CHANGELOG.md'), CHANGELOG);
    const lock = JSON.parse(await readFile(path.join(root, 'deploy/docker/images.lock.json'), 'utf8')) as Record<
      string,
      { image: string; digest: string | null }
    >;
    const digest = `sha256:${'a'.repeat(64)}`;
    for (const entry of Object.values(lock)) {
      for (const file of ['Dockerfile', 'docker-compose.yml']) {
        const text = await readFile(path.join(root, file), 'utf8');
        await writeFile(path.join(root, file), text.replaceAll(`${entry.image}}`, `${entry.image}@${digest}}`));
      }
      entry.digest = digest;
    }
    for (const [name, { image }] of Object.entries(lock)) {
      const text = await readFile(path.join(root, 'Dockerfile'), 'utf8');
      await writeFile(
        path.join(root, 'Dockerfile'),
        text.replace(`ARG ${name}=${image}\n`, `ARG ${name}=${image}@${digest}\n`),
      );
    }
    await writeFile(path.join(root, 'deploy/docker/images.lock.json'), JSON.stringify(lock));
  }

  it('has no problem in this repository, whatever is left to do for the next release', async () => {
    const { problems, version } = await read();

    assert.deepEqual(problems, []);
    assert.match(version, /^\d+\.\d+\.\d+/);
  });

  it('is ready, with the notes of its version, when everything was prepared', async () => {
    await prepare();

    assert.deepEqual(await read(), {
      version: '1.2.0',
      problems: [],
      unfinished: [],
      notes: '### Added\n\n- Something.\n',
    });
  });

  it('names each file with another version', async () => {
    await prepare();
    await change('package.json', /^ {2}"version": "1.2.0"/gm, '  "version": "1.3.0"');

    const { problems } = await read();

    for (const where of [
      'packages/sdk-js/package.json: 1.2.0',
      'packages/ai-sdk-provider/package.json, @darkroom/sdk: 1.2.0',
      'package.json, @darkroom/api: 1.2.0',
      'packages/sdk-python/pyproject.toml: 1.2.0',
      'deploy/helm/Chart.yaml, appVersion: 1.2.0',
      'deploy/helm/Chart.yaml, version: 1.2.0',
    ]) {
      assert.ok(problems.includes(`${where} where package.json has 1.3.0`), `${where}\n${problems.join('\n')}`);
    }
  });

  it('rejects a version that no tag of an image can have', async () => {
    await prepare();
    for (const version of ['1.2', '01.2.0', '1.2.0+5', 'v1.2.0', '']) {
      await change('package.json', /^ {2}"version": "[^"]*"/gm, `  "version": "${version}"`);
      assert.ok((await read()).problems.includes(`package.json: "${version}" is no version`), version);
    }
  });

  for (const [what, from, to, wanted] of [
    [
      'changes that are under no version',
      '### Added\n\n## [1.2.0]',
      '### Added\n\n- More.\n\n## [1.2.0]',
      /under \[Unreleased\]/,
    ],
    ['a version that the changelog does not have', '[1.2.0]', '[1.1.0]', /no section \[1\.2\.0\]/],
    ['a section without a date', ' - 2026-12-01', '', /\[1\.2\.0\] has no date/],
    ['a version that is not the newest', '## [1.2.0]', '## [2.0.0] - 2027-01-01\n\n## [1.2.0]', /\[2\.0\.0\] is newer/],
  ] as const) {
    it(`is not ready with ${what}`, async () => {
      await prepare();
      await change('CHANGELOG.md', from, to);

      const { unfinished } = await read();

      assert.equal(unfinished.length, 1, unfinished.join('\n'));
      assert.match(unfinished[0] ?? '', wanted);
    });
  }

  it('is not ready with a base image that has no digest', async () => {
    await prepare();
    await cp(packageFile('deploy/docker/images.lock.json'), path.join(root, 'deploy/docker/images.lock.json'));

    assert.ok((await read()).unfinished.some((problem) => problem.startsWith('NODE_IMAGE:')));
  });
});
