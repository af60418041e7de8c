/**
 * Makes everything of a release but the image, which needs Docker, and publishes nothing: `npm run release -- --help`.
 * The workflow .github/workflows/release.yml runs it, and publishes what it made.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFile, readFile, readdir, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { createDirectory } from '../../src/config/create-directory.ts';
import { packageFile } from '../../src/config/package-root.ts';
import { packageChart } from './chart.ts';
import { buildPythonPackage, packNpmPackages } from './packages.ts';
import { readReleaseState } from './versions.ts';
import type { ReleaseState } from './versions.ts';

const run = promisify(execFile);
const OUTPUT_BYTES = 64 * 1024 * 1024;
const REPOSITORY = /^[A-Za-z0-9][A-Za-z0-9-]*\/[A-Za-z0-9_.-]+$/;

/** What is wrong for the operator to correct. */
class ReleaseError extends Error {
  override readonly name = 'ReleaseError';
}

type Kind = 'npm' | 'pypi' | 'chart' | 'cli' | 'sbom';

interface Options {
  readonly isDryRun: boolean;
  readonly tag: string | undefined;
  /** `owner/name` at GitHub; undefined: nothing that is made says where the release is. */
  readonly repository: string | undefined;
  readonly output: string;
  readonly helm: string;
  readonly python: string;
}

function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      'dry-run': { type: 'boolean', default: false },
      tag: { type: 'string' },
      repository: { type: 'string' },
      output: { type: 'string', default: 'release' },
      helm: { type: 'string', default: 'helm' },
      python: { type: 'string', default: 'python3' },
    },
  });
  const { 'dry-run': isDryRun, tag, repository, ...rest } = values;
  if (isDryRun === (tag !== undefined)) throw new ReleaseError('name either --dry-run or the --tag of the release');
  if (tag !== undefined && repository === undefined) {
    throw new ReleaseError('--tag needs --repository: npm packages and the chart name where the release is');
  }
  if (repository !== undefined && !REPOSITORY.test(repository)) {
    throw new ReleaseError(`--repository: "${repository}" is not owner/name, as at GitHub`);
  }
  return { isDryRun, tag, repository, ...rest, output: path.resolve(rest.output) };
}

/** Where the workflow pushes the image. The registry has lower-case names only. */
function imageOf({ repository }: Options): string | undefined {
  return repository === undefined ? undefined : `ghcr.io/${repository.toLowerCase()}`;
}

async function readState({ isDryRun, tag, repository }: Options): Promise<ReleaseState> {
  const root = packageFile('.');
  const entries = await readdir(packageFile('packages'), { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  const packages: string[] = [];
  for (const name of names) {
    if (await stat(packageFile(`packages/${name}/package.json`)).catch(() => undefined)) packages.push(name);
  }
  const state = await readReleaseState(root, packages);
  const problems = [...state.problems];
  if (tag !== undefined && tag !== `v${state.version}`) problems.push(`--tag: ${tag} is not v${state.version}`);
  if (isDryRun) {
    const missing = repository === undefined ? ['--repository: the packages and the chart do not name it'] : [];
    for (const problem of [...state.unfinished, ...missing]) {
      process.stdout.write(`before the release: ${problem}\n`);
    }
  } else problems.push(...state.unfinished);
  if (problems.length > 0) throw new ReleaseError(problems.join('\n'));
  return state;
}

/** An empty directory, so that nothing of an earlier run is published. */
async function openOutput(directory: string): Promise<void> {
  await createDirectory(directory).catch((error: Error) => {
    throw new ReleaseError(`--output: ${error.message}`, { cause: error });
  });
  if ((await readdir(directory)).length > 0) throw new ReleaseError(`--output: ${directory} is not empty`);
}

/** @throws {ReleaseError} a program is missing, or fails: with what it wrote. */
async function step<T>(what: string, work: () => Promise<T>): Promise<T> {
  process.stdout.write(`${what}\n`);
  try {
    return await work();
  } catch (error) {
    const stderr = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : '';
    const reason = stderr === '' ? (error instanceof Error ? error.message : String(error)) : stderr;
    throw new ReleaseError(`${what}: ${reason}`, { cause: error });
  }
}

async function makeArtifacts(
  options: Options,
  { version }: ReleaseState,
): Promise<readonly (readonly [Kind, string])[]> {
  const root = packageFile('.');
  const { output, helm, python, repository } = options;
  const made: (readonly [Kind, string])[] = [];
  const add = (kind: Kind, files: readonly string[]): void => {
    for (const file of files) made.push([kind, file]);
  };
  const { stdout: time } = await step('reading the time of the commit', () =>
    run('git', ['log', '-1', '--format=%ct'], { cwd: root }),
  );
  add('npm', await step('packing the npm packages', () => packNpmPackages(root, output, repository)));
  const epochSeconds = Number(time.trim());
  const build = { python, epochSeconds };
  add('pypi', await step('building the Python package', () => buildPythonPackage(root, output, build)));
  const cli = `darkroom-cli-${version}.mjs`;
  await step('copying the command-line client', () =>
    copyFile(packageFile('packages/cli/dist/darkroom-cli.mjs'), path.join(output, cli)),
  );
  add('cli', [cli]);
  const chart = { helm, version, image: imageOf(options) };
  add('chart', [await step('packaging the chart', () => packageChart(packageFile('deploy/helm'), output, chart))]);
  const bill = await step('listing what production installs', () =>
    run('npm', ['run', '--silent', 'sbom'], { cwd: root, maxBuffer: OUTPUT_BYTES }),
  );
  const sbom = `darkroom-${version}.cdx.json`;
  await writeFile(path.join(output, sbom), bill.stdout);
  add('sbom', [sbom]);
  return made;
}

async function finish(
  options: Options,
  { version, notes }: ReleaseState,
  made: readonly (readonly [Kind, string])[],
): Promise<void> {
  const { output } = options;
  const artifacts = [];
  for (const [kind, file] of made) {
    const bytes = await readFile(path.join(output, file));
    artifacts.push({ kind, file, sizeBytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') });
  }
  const sums = artifacts.map(({ sha256, file }) => `${sha256}  ${file}\n`);
  await writeFile(path.join(output, 'SHA256SUMS'), sums.join(''));
  await writeFile(path.join(output, 'notes.md'), notes);
  const release = { version, image: imageOf(options), artifacts };
  await writeFile(path.join(output, 'release.json'), `${JSON.stringify(release, undefined, 2)}\n`);
  for (const { kind, file, sizeBytes } of artifacts) {
    process.stdout.write(`${kind.padEnd(6)} ${String(sizeBytes).padStart(9)} ${file}\n`);
  }
}

try {
  const options = readOptions();
  const state = await readState(options);
  await openOutput(options.output);
  await finish(options, state, await makeArtifacts(options, state));
  process.stdout.write(`${options.output} has release ${state.version}; nothing was published.\n`);
} catch (error) {
  const isExpected =
    error instanceof ReleaseError ||
    (error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS'));
  if (!isExpected) throw error;
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
}
