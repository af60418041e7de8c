/**
 * Runs compiled test files on services started for this run: the last step of `npm test`. The services are stopped
 * whatever happens, and a run without any test has failed.
 *
 * Usage: npm test -- [--test-name-pattern=<pattern>] [--test-timeout=<ms>] [--test-concurrency=<files>]
 * [--quota=<share>] <file>…;
 * `npm run test:unit` passes --unit, and starts no services.
 */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { parseArgs } from 'node:util';
import { PACKAGE_ROOT, packageFile } from '../../src/config/package-root.ts';
import { SEARCH_ATTRIBUTES } from '../../src/temporal/search-attributes.ts';
import { TEST_BUDGET_SECONDS } from './budgets.ts';
import { FileDurations, groupOf } from './file-durations.ts';
import { POOLER_VARIABLE } from './pooled-run.ts';
import { startQuota } from './quota.ts';
import { startServices } from './services.ts';
import type { TestServices } from './services.ts';
import { shareProcesses } from './shared-processes.ts';
import { selectUnitFiles } from './unit-files.ts';

/** More files at once than the smallest machine that we build on has cores: they spend much of their time waiting. */
const CONCURRENCY = 5;
/**
 * Longer than any file takes, on a busy machine too: a test that hangs must fail the run rather than block it
 * forever.
 */
const FILE_TIMEOUT_MS = 3_600_000;
/**
 * The directories with the slowest files: started first, so that none of them is still running when all others are
 * done.
 */
const LONG_DIRECTORIES = [
  'deploy',
  'upgrades',
  'faults',
  'web',
  'kill',
  'fairness',
  'standalone',
  'media',
  'commands',
  'e2e',
  'clients',
  'generation',
];

const { values: options, positionals: named } = parseArgs({
  allowPositionals: true,
  options: {
    'test-name-pattern': { type: 'string', multiple: true },
    'test-timeout': { type: 'string', default: String(FILE_TIMEOUT_MS) },
    'test-concurrency': { type: 'string', default: String(CONCURRENCY) },
    quota: { type: 'string' },
    unit: { type: 'boolean', default: false },
  },
});
const sources = named.map((file) => path.relative(PACKAGE_ROOT, path.resolve(file)));
const stopRequested = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => stopRequested.abort());
}
const report = (line: string): void => void process.stderr.write(`${line}\n`);
const endQuota = options.quota === undefined ? undefined : await startQuota(Number(options.quota), report);
try {
  process.exitCode = options.unit ? await runTests(selectUnitFiles(sources)) : await runWithServices();
} finally {
  await endQuota?.();
}

async function runWithServices(): Promise<number> {
  const services = await startServices(SEARCH_ATTRIBUTES, process.env, report);
  try {
    provide(services);
    return await runTests(sources);
  } finally {
    await services.stop();
  }
}

/** Says to the processes of the tests where the services are. */
function provide(services: TestServices): void {
  const { databaseUrl, poolerUrl, temporalAddress, temporalMetricsUrl, temporalCli } = services;
  const bundle = packageFile('dist/workflow-bundle.js');
  Object.assign(process.env, {
    DARKROOM_TEST_DATABASE_URL: databaseUrl,
    DARKROOM_TEST_TEMPORAL_ADDRESS: temporalAddress,
    DARKROOM_TEST_TEMPORAL_METRICS: temporalMetricsUrl,
    DARKROOM_TEST_TEMPORAL_CLI: temporalCli,
    ...(poolerUrl === undefined ? {} : { [POOLER_VARIABLE]: poolerUrl }),
    ...(existsSync(bundle) ? { DARKROOM_TEST_WORKFLOW_BUNDLE: bundle } : {}),
  });
}

/** @param files sources below the root. @returns the exit code. */
async function runTests(files: readonly string[]): Promise<number> {
  const patterns = options['test-name-pattern'];
  const processes = await shareProcesses(longestFirst(files));
  const results = run({
    files: [...processes.modules],
    concurrency: Number(options['test-concurrency']),
    timeout: Number(options['test-timeout']),
    signal: stopRequested.signal,
    ...(patterns === undefined ? {} : { testNamePatterns: patterns.map((pattern) => new RegExp(pattern)) }),
  });
  let passed = 0;
  let failed = 0;
  results.on('test:pass', ({ name, nesting, file, details, skip }) => {
    // Node counts a file without a test as a passing test; here it counts nothing.
    const isFile = nesting === 0 && name === file;
    if (!isFile && details.type !== 'suite' && skip === undefined) passed += 1;
  });
  results.on('test:fail', ({ todo }) => {
    if (todo === undefined || todo === false) failed += 1;
  });
  const durations = new FileDurations();
  const own = new Set(files);
  results.on('test:complete', ({ name, nesting, file, details }) => {
    if (nesting !== 0) return;
    // A file has a process of its own, or is a suite of one that several share.
    const source = name === file ? nameOf(file) : name;
    if (own.has(source)) durations.add(source, details.duration_ms);
  });
  const lines = results.compose(new spec());
  lines.pipe(process.stdout, { end: false });
  await once(lines, 'end');
  await processes.close();
  for (const line of durations.report(TEST_BUDGET_SECONDS)) process.stdout.write(`${line}\n`);
  if (passed + failed === 0) process.stderr.write('No test ran: that is a failure.\n');
  return failed > 0 || passed === 0 || stopRequested.signal.aborted ? 1 : 0;
}

/** The source of a compiled test file, below the root: `test/web/models.test.ts`. */
function nameOf(file: string): string {
  const compiled = path.relative(PACKAGE_ROOT, file).split(path.sep);
  return compiled
    .filter((part) => part !== 'dist')
    .join(path.sep)
    .replace(/\.js$/, '.ts');
}

function longestFirst(files: readonly string[]): string[] {
  const indexOf = (file: string): number => {
    const index = LONG_DIRECTORIES.indexOf(groupOf(file));
    return index < 0 ? LONG_DIRECTORIES.length : index;
  };
  return files.toSorted((a, b) => indexOf(a) - indexOf(b));
}
