/**
 * The entry point of every npm script, on a fresh clone too: it imports nothing that has to be installed. It
 * installs, builds what changed, and runs the command.
 */
import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from './build.mjs';
import { findHelp, findProblem } from './help.mjs';
import { install } from './install.mjs';
import { withLock } from './lock.mjs';
import { environmentOf, groupNames, passing, selectTestFiles, withoutPassed } from './test-files.mjs';

const ROOT = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const MAIN = path.join(ROOT, 'dist/src/main.js');
const LEAST_NODE = [20, 19];
const AUDIT_TIMEOUT_MS = 30_000;

/** All messages here go to stderr: the output of `admin` may be piped. */
const report = (line) => process.stderr.write(`${line}\n`);

/** A problem that the user can fix; printed without a stack. */
const fail = (message) => {
  report(message);
  process.exit(1);
};

/** Runs a program on our terminal until it ends, and forwards signals. Returns its exit code. */
async function handOver(command, args, environment = process.env) {
  const child = spawn(command, args, { cwd: process.cwd(), stdio: 'inherit', env: environment });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  return new Promise((resolve) => {
    child.once('error', (error) => {
      report(`${command} cannot be started: ${error.message}`);
      resolve(1);
    });
    child.once('exit', (code) => resolve(code ?? 1));
  });
}

/** Installs and builds; one process at a time, because two at once would write the same files. */
async function prepare({ builds, withTests = false }) {
  await withLock(path.join(ROOT, '.cache'), report, async (onProcess) => {
    await install(ROOT, report, onProcess);
    if (builds) await build(ROOT, { report, withTests });
  });
}

async function test(args) {
  const isWide = args.includes('--wide');
  const options = args.filter(
    (argument) => argument.startsWith('--') && !['--wide', '--unless-passed'].includes(argument),
  );
  const named = args.filter((argument) => !argument.startsWith('--'));
  const names = args.includes('--unless-passed') ? await withoutPassed(ROOT, named) : named;
  const leftOut = named.filter((name) => !names.includes(name));
  if (leftOut.length > 0) report(`Left out, because its tests passed with what is here: ${leftOut.join(', ')}.`);
  if (leftOut.length > 0 && names.length === 0) return 0;
  const { files, unknown } = await selectTestFiles(ROOT, { names, isWide });
  if (unknown.length > 0) {
    const groups = `npm run test:wide -- accepts the groups ${groupNames().join(', ')}, and files of test/wide by name.`;
    fail(`There is no test file ${unknown.join(', ')}. ${groups}`);
  }
  if (files.length === 0) fail('There are no test files.');
  Object.assign(process.env, environmentOf(names, isWide));
  // The processes of the test files inherit what is imported here.
  const imported = ['prepare-program.mjs', 'end-descendants.mjs'].map(
    (file) => `--import=${path.join(ROOT, 'test/support', file)}`,
  );
  const isWhole = isWide && !options.some((option) => option.startsWith('--test-name-pattern'));
  const passed = isWhole ? await passing(ROOT, names) : undefined;
  const code = await runCompiled('test/support/run-tests.ts', [...options, ...files], imported);
  if (code === 0) await passed?.();
  return code;
}

/** Builds everything, and runs a compiled TypeScript file that is none of the program's own. */
async function runCompiled(file, args, options = []) {
  await prepare({ builds: true, withTests: true });
  const compiled = path.join(ROOT, 'dist', file.replace(/\.ts$/, '.js'));
  return handOver(process.execPath, ['--enable-source-maps', ...options, compiled, ...args]);
}

/** Every check runs, so that one run shows everything there is to fix. */
async function check() {
  await prepare({ builds: false });
  const bin = (name) => path.join(ROOT, 'node_modules/.bin', name);
  const checks = [
    { name: 'format', command: bin('oxfmt'), args: ['--check'] },
    { name: 'lint', command: bin('oxlint'), args: ['--type-aware'] },
    { name: 'types', command: bin('tsc'), args: ['--noEmit', '-p', 'tsconfig.json'] },
    { name: 'types of the dashboard', command: bin('tsc'), args: ['--noEmit', '-p', 'packages/dashboard'] },
    { name: 'types of the guide', command: bin('tsc'), args: ['--noEmit', '-p', 'packages/guide'] },
    { name: 'unused code', command: bin('knip'), args: [] },
  ];
  const failed = [];
  for (const { name, command, args } of checks) {
    report(`── ${name}`);
    if ((await handOver(command, args)) !== 0) failed.push(name);
  }
  report('── known vulnerabilities');
  report(await audit());
  report('── how much there is to understand');
  await handOver(process.execPath, [path.join(ROOT, 'scripts/proportions.mjs')]);
  report(failed.length === 0 ? 'All checks passed.' : `Failed: ${failed.join(', ')}.`);
  return failed.length === 0 ? 0 : 1;
}

/**
 * What the registry reports about the packages that are deployed: printed, and no reason to fail, because it changes
 * by itself.
 */
async function audit() {
  const result = await promisify(execFile)('npm', ['audit', '--omit=dev', '--json'], {
    timeout: AUDIT_TIMEOUT_MS,
    maxBuffer: 64 * 1024 * 1024,
  }).catch((error) => error);
  try {
    const { total, ...counts } = JSON.parse(result.stdout).metadata.vulnerabilities;
    if (total === 0) return 'None.';
    const found = Object.entries(counts).filter(([, count]) => count > 0);
    return `${found.map(([severity, count]) => `${count} ${severity}`).join(', ')}: see npm audit --omit=dev.`;
  } catch {
    return 'Unknown: the registry did not answer.';
  }
}

async function runRole(role, args) {
  await prepare({ builds: true });
  return handOver(process.execPath, [MAIN, role, ...args]);
}

/** `bench`: ours compared with raw Temporal; `bench <name>`: what test/bench/<name>/run.ts measures. */
async function bench(args) {
  const isNamed = /^\w[\w-]*$/.test(args[0] ?? '');
  const [file, rest] = isNamed ? [`test/bench/${args[0]}/run.ts`, args.slice(1)] : ['test/bench/run.ts', args];
  if (!existsSync(file)) fail(`There is no ${file}.`);
  return runCompiled(file, rest);
}

/** The fault campaign: everything is killed, paused and cut off, and the outcome is checked from outside. */
async function chaos(args) {
  return runCompiled('test/chaos/main.ts', args);
}

/** The attack campaign: one account works next to two hostile ones and an anonymous host. */
async function attack(args) {
  return runCompiled('test/attack/campaign/main.ts', args);
}

/** The command-line client: it needs nothing that the service itself is built from. */
async function cli(args) {
  await prepare({ builds: true });
  return handOver(process.execPath, [path.join(ROOT, 'packages/cli/dist/src/main.js'), ...args]);
}

/** One of the small programs among the tests and tools: one that renders a file, records or fills something. */
async function ts([file = '', ...args]) {
  if (!existsSync(file) || !file.endsWith('.ts'))
    fail('Usage: npm run ts -- <a .ts file of test or scripts> <arguments>');
  return runCompiled(file, args);
}

/** The files of a release, without publishing any. */
async function release(args) {
  return runCompiled('scripts/release/run.ts', args);
}

/** The base images of the container files, and their digests. */
async function images(args) {
  return runCompiled('scripts/images/run.ts', args);
}

/** Shows the output of every embedded model. */
async function gallery(args) {
  return runCompiled('scripts/gallery/run.ts', args);
}

/** Takes screenshots of the dashboard for the documents. */
async function screenshots(args) {
  return runCompiled('scripts/screenshots/run.ts', args);
}

/** The container files with a real engine, which is started if none runs. The image builds the program itself. */
async function testContainers(args) {
  return runCompiled('test/containers/main.ts', args);
}

/** The Helm chart in a cluster of one node, which is made here. */
async function testCluster(args) {
  return runCompiled('test/cluster/main.ts', args);
}

const COMMANDS = {
  start: (args) => runRole('start', args),
  admin: (args) => runRole('admin', args),
  test,
  check,
  cli,
  bench,
  release,
  images,
  gallery,
  screenshots,
  chaos,
  attack,
  ts,
  'test:containers': testContainers,
  'test:cluster': testCluster,
  build: async () => {
    await prepare({ builds: true });
    return 0;
  },
};

const [name = '', ...args] = process.argv.slice(2);
const help = findHelp(name, args);
if (help !== undefined) {
  process.stdout.write(help);
  process.exit();
}
const problem = findProblem(name, args);
if (problem !== undefined) fail(problem);
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < LEAST_NODE[0] || (major === LEAST_NODE[0] && minor < LEAST_NODE[1])) {
  fail(`Darkroom needs Node ${LEAST_NODE.join('.')} or newer; this is Node ${process.versions.node}.`);
}
const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
if (command === undefined) fail(`Usage: bootstrap.mjs ${Object.keys(COMMANDS).join('|')} …`);
process.chdir(ROOT);
try {
  process.exitCode = await command(args);
} catch (error) {
  fail(error instanceof Error ? error.message : String(error));
}
