/**
 * Builds `dist`: the compiled program and its bundle, the bundle of the workflows that workers run, the list of the
 * models that have no problem, the dashboard, the guide, the command-line client as one file, and for developers the
 * compiled tests and benchmarks. Each is skipped while the content of its sources has not changed.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { compress } from './compress.mjs';
import { runChild } from './run-child.mjs';

/** Packages of the workspace that the program does not contain. */
const OF_DEVELOPERS = ['ai-sdk-provider', 'sdk-js', 'testing'];
/** Built by Vite and VitePress; compiled only for their tests. */
const DASHBOARD = 'dashboard';
const GUIDE = 'guide';

/** What is built, from which sources, and where the result is. */
async function partsOf(root) {
  const packages = await listPackages(root);
  const ofProgram = packages.filter((name) => !OF_DEVELOPERS.includes(name));
  const inPackages = (names, ...files) => names.flatMap((name) => files.map((file) => `packages/${name}/${file}`));
  const packageSources = inPackages(ofProgram, 'src', 'package.json', 'tsconfig.json');
  const program = {
    sources: [
      'src',
      'workflows',
      'activities',
      ...packageSources,
      'packages/tsconfig.package.json',
      'tsconfig.json',
      'tsconfig.build.json',
      'package-lock.json',
    ],
    stamp: 'dist/.program-hash',
    products: ['dist/src/main.js', ...inPackages(ofProgram, 'dist')],
  };
  const tests = {
    sources: [
      ...program.sources,
      ...inPackages(OF_DEVELOPERS, 'src', 'package.json', 'tsconfig.json'),
      ...inPackages(packages, 'test', 'tsconfig.test.json'),
      // Their tests compile the sources too.
      ...inPackages([DASHBOARD, GUIDE], 'src', 'test', 'package.json', 'tsconfig.json', 'tsconfig.test.json'),
      'packages/tsconfig.test.json',
      'test',
      'scripts',
      'tsconfig.test.json',
    ],
    stamp: 'dist/.tests-hash',
    products: ['dist/test/support/run-tests.js', ...inPackages([...packages, DASHBOARD, GUIDE], 'dist')],
  };
  const programBundle = {
    sources: [...program.sources, 'scripts/program-bundle.mjs'],
    stamp: 'dist/.program-bundle-hash',
    products: ['dist/program/program.js'],
  };
  const bundle = {
    sources: ['workflows', 'src/domain', 'src/temporal', ...packageSources, 'package-lock.json'],
    stamp: 'dist/.bundle-hash',
    products: ['dist/workflow-bundle.js'],
  };
  const proofs = {
    sources: [...program.sources, 'models'],
    stamp: 'dist/.proofs-hash',
    products: ['dist/proven-models.json'],
  };
  const dashboard = {
    // It imports its client and its types from there.
    sources: [
      ...inPackages([DASHBOARD], 'src', 'public', 'index.html', 'vite.config.ts'),
      'packages/api/src',
      'scripts/compress.mjs',
      'package-lock.json',
    ],
    stamp: 'dist/.dashboard-hash',
    products: ['dist/dashboard/index.html'],
  };
  const guide = {
    sources: [
      'docs',
      // The documents outside docs/ (packages/guide/src/documents.ts).
      'CONTRIBUTING.md',
      'SECURITY.md',
      'packages/cli/README.md',
      ...inPackages([GUIDE], '.vitepress/config.ts', '.vitepress/theme', 'src'),
      'scripts/compress.mjs',
      'package-lock.json',
    ],
    stamp: 'dist/.guide-hash',
    products: ['dist/guide/index.html'],
  };
  const client = {
    sources: [...inPackages(['api', 'cli', 'mcp'], 'src', 'package.json'), 'package-lock.json'],
    stamp: 'dist/.client-hash',
    products: ['packages/cli/dist/darkroom-cli.mjs'],
  };
  return { program, tests, programBundle, bundle, proofs, dashboard, guide, client };
}

async function listPackages(root) {
  const entries = await readdir(path.join(root, 'packages'), { withFileTypes: true }).catch(() => []);
  return (
    entries
      .filter((entry) => entry.isDirectory() && ![DASHBOARD, GUIDE].includes(entry.name))
      // The SDK for Python is none of npm's.
      .filter(({ name }) => existsSync(path.join(root, 'packages', name, 'package.json')))
      .map(({ name }) => name)
      .toSorted()
  );
}

/**
 * Builds what is not up to date.
 *
 * @param options.withTests whether the tests and benchmarks are compiled too. They may be in the middle of a change:
 *   a type error is reported, and they run nevertheless.
 */
export async function build(root, { report, withTests }) {
  const { program, tests, programBundle, bundle, proofs, dashboard, guide, client } = await partsOf(root);
  const run = stepsOf(root, report);
  const compile = (project) => run('The compiler', path.join(root, 'node_modules/.bin/tsc'), ['--build', project]);
  if (withTests) {
    await unlessCurrent(root, tests, async () => {
      report('Building the program and its tests.');
      if (await compile('tsconfig.test.json')) return true;
      report('There are type errors (above); the tests run nevertheless.');
      return false;
    });
  } else {
    await unlessCurrent(root, program, async () => {
      report('Building.');
      if (await compile('tsconfig.build.json')) return true;
      throw new Error('The program does not compile.');
    });
  }
  await unlessCurrent(root, programBundle, async () => {
    report('Bundling the program.');
    const script = path.join(root, 'scripts/program-bundle.mjs');
    if (!(await run('The bundle of the program', process.execPath, [script])))
      throw new Error('The program could not be bundled.');
    return true;
  });
  await unlessCurrent(root, bundle, async () => {
    report('Bundling the workflows.');
    const script = path.join(root, 'dist/src/temporal/build-workflow-bundle.js');
    if (!(await run('The bundle of the workflows', process.execPath, [script])))
      throw new Error('The workflows could not be bundled.');
    return true;
  });
  await unlessCurrent(root, proofs, async () => {
    report('Checking the models.');
    const script = path.join(root, 'dist/src/commands/prove-models.js');
    if (!(await run('The check of the models', process.execPath, [script])))
      throw new Error('The models could not be checked.');
    return true;
  });
  await unlessCurrent(root, client, async () => {
    report('Bundling the command-line client.');
    const rolldown = path.join(root, 'node_modules/.bin/rolldown');
    const [entry, file] = ['packages/cli/dist/src/main.js', 'packages/cli/dist/darkroom-cli.mjs'];
    const args = [
      entry,
      '--format',
      'esm',
      '--platform',
      'node',
      '--no-codeSplitting',
      '--file',
      file,
      '--log-level',
      'silent',
    ];
    if (!(await run('The bundle of the client', rolldown, args)))
      throw new Error('The command-line client could not be bundled.');
    return true;
  });
  await unlessCurrent(root, dashboard, async () => {
    report('Building the dashboard.');
    const vite = path.join(root, 'node_modules/.bin/vite');
    if (!(await run('The build of the dashboard', vite, ['build', 'packages/dashboard'])))
      throw new Error('The dashboard could not be built.');
    await compress(path.join(root, 'dist/dashboard'));
    return true;
  });
  await unlessCurrent(root, guide, async () => {
    report('Building the guide.');
    const vitepress = path.join(root, 'node_modules/.bin/vitepress');
    if (!(await run('The build of the guide', vitepress, ['build', 'packages/guide'])))
      throw new Error('The guide could not be built.');
    await compress(path.join(root, 'dist/guide'));
    return true;
  });
}

async function unlessCurrent(root, { sources, stamp, products }, make) {
  const hash = await hashOf(root, sources);
  const file = path.join(root, stamp);
  const isBuilt = products.every((product) => existsSync(path.join(root, product)));
  const isCurrent = isBuilt && (await readFile(file, 'utf8').catch(() => '')) === hash;
  if (isCurrent) return;
  // A build that fails half-way leaves something other than what the stamp describes.
  await rm(file, { force: true });
  if (!(await make())) return;
  await writeFile(`${file}.new`, hash);
  await rename(`${file}.new`, file);
}

/** @param sources files and directories below the root. @returns the hash of their names and contents. */
export async function hashOf(root, sources) {
  const hash = createHash('sha256');
  for (const source of sources) {
    for (const file of await filesOf(path.join(root, source))) {
      const content = await readFile(file);
      hash.update(`${path.relative(root, file)} ${content.length}\n`).update(content);
    }
  }
  return hash.digest('hex');
}

async function filesOf(source) {
  const entries = await readdir(source, { recursive: true, withFileTypes: true }).catch((error) => {
    if (error.code === 'ENOTDIR') return undefined;
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  if (entries === undefined) return [source];
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .toSorted();
}

/** Runs the steps of a build. @returns whether one succeeded. */
function stepsOf(root, report) {
  return async (title, command, args) => {
    try {
      return (await runChild(command, args, { title, report, cwd: root })) === 0;
    } catch (error) {
      if (error.code === undefined) throw error;
      const advice = 'Something is missing in node_modules: remove that directory and start again.';
      throw new Error(`${error.message}\n${advice}`, { cause: error });
    }
  };
}
