/**
 * The version of a release, which stands in many files: whether they agree, and whether the changelog and the container
 * files are ready for it.
 */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { problemsOf } from '../images/lock.ts';
import type { ImageLock } from '../images/lock.ts';

/** Semantic Versioning, without build metadata: a tag of an image has no `+`. */
const VERSION = /^(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)(?:-[0-9A-Za-z.-]+)?$/;

export interface ReleaseState {
  readonly version: string;
  /** Wrong at any time. */
  readonly problems: readonly string[];
  /** What is left to do before this version can be released. */
  readonly unfinished: readonly string[];
  /** The section of the changelog. */
  readonly notes: string;
}

interface Manifest {
  readonly name: string;
  readonly version?: string;
  readonly [field: string]: unknown;
}

/** @param root of the repository. @param packages directories below `packages` that have a `package.json`. */
export async function readReleaseState(root: string, packages: readonly string[]): Promise<ReleaseState> {
  const read = (file: string): Promise<string> => readFile(path.join(root, file), 'utf8');
  const { version = '' } = JSON.parse(await read('package.json')) as Manifest;
  const problems: string[] = VERSION.test(version) ? [] : [`package.json: "${version}" is no version`];
  const compare = (where: string, found: string | undefined): void => {
    if (found !== version) problems.push(`${where}: ${found ?? 'no version'} where package.json has ${version}`);
  };

  for (const name of packages) {
    const file = `packages/${name}/package.json`;
    const manifest = JSON.parse(await read(file)) as Manifest;
    compare(file, manifest.version);
    for (const [dependency, wanted] of dependenciesOf(manifest)) compare(`${file}, ${dependency}`, wanted);
  }
  for (const [dependency, wanted] of dependenciesOf(JSON.parse(await read('package.json')) as Manifest)) {
    compare(`package.json, ${dependency}`, wanted);
  }
  compare(
    'packages/sdk-python/pyproject.toml',
    /^version = "([^"]+)"$/m.exec(await read('packages/sdk-python/pyproject.toml'))?.[1],
  );
  compare(
    'deploy/helm/Chart.yaml, appVersion',
    /^appVersion: ['"]?([^'"\s]+)/m.exec(await read('deploy/helm/Chart.yaml'))?.[1],
  );
  compare(
    'deploy/helm/Chart.yaml, version',
    /^version: ['"]?([^'"\s]+)/m.exec(await read('deploy/helm/Chart.yaml'))?.[1],
  );

  const changelog = await read('CHANGELOG.md');
  const lock = JSON.parse(await read('deploy/docker/images.lock.json')) as ImageLock;
  const images = problemsOf(lock, await Promise.all(['Dockerfile', 'docker-compose.yml'].map(read)), true);
  return {
    version,
    problems,
    unfinished: [...changelogProblems(changelog, version), ...images],
    notes: sectionOf(changelog, version) ?? '',
  };
}

/** The packages of this repository that one depends on, with the version that it wants. */
function dependenciesOf(manifest: Manifest): readonly (readonly [string, string])[] {
  return ['dependencies', 'devDependencies', 'peerDependencies'].flatMap((kind) =>
    Object.entries((manifest[kind] ?? {}) as Readonly<Record<string, string>>).filter(([name]) =>
      name.startsWith('@darkroom/'),
    ),
  );
}

function changelogProblems(changelog: string, version: string): readonly string[] {
  const problems: string[] = [];
  if ((sectionOf(changelog, 'Unreleased') ?? '').replaceAll(/^#+ .*$/gm, '').trim() !== '') {
    problems.push('CHANGELOG.md: there are changes under [Unreleased], which belong under the version');
  }
  const heading = headings(changelog).find(({ name }) => name === version);
  if (heading === undefined) problems.push(`CHANGELOG.md: no section [${version}]`);
  else if (!/ - \d{4}-\d{2}-\d{2}$/.test(heading.line)) problems.push(`CHANGELOG.md: [${version}] has no date`);
  const [newest] = headings(changelog).filter(({ name }) => name !== 'Unreleased');
  if (heading !== undefined && newest?.name !== version) {
    problems.push(`CHANGELOG.md: [${newest?.name}] is newer than [${version}]`);
  }
  return problems;
}

function headings(changelog: string): readonly { readonly name: string; readonly line: string; readonly at: number }[] {
  return [...changelog.matchAll(/^## \[([^\]\n]+)\].*$/gm)].map(({ 0: line, 1: name = '', index }) => ({
    name,
    line,
    at: index,
  }));
}

/** The text below a heading. */
function sectionOf(changelog: string, name: string): string | undefined {
  const all = headings(changelog);
  const index = all.findIndex((heading) => heading.name === name);
  const heading = all[index];
  if (heading === undefined) return undefined;
  return `${changelog.slice(heading.at + heading.line.length, all[index + 1]?.at).trim()}\n`;
}
