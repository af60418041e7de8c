/**
 * Runs test files on services started for this run: `npm test` ends here. The services are stopped whatever happens,
 * and a run in which no test ran has failed.
 *
 * Usage: run-tests.ts [--<option of node --test>…] <file>…
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { packageFile } from '../../src/config/package-root.ts';
import { SEARCH_ATTRIBUTES } from '../../src/temporal/search-attributes.ts';
import { startServices } from './services.ts';

/** As many files at once as the smallest machine we build on has cores. */
const CONCURRENCY = 2;
/** Longer than any file takes: a test that hangs must fail the run rather than hold it for ever. */
const FILE_TIMEOUT_MS = 600_000;

const options = process.argv.slice(2).filter((argument) => argument.startsWith('--'));
const files = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const stopRequested = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => stopRequested.abort());
}
process.exitCode = await runTests();

async function runTests(): Promise<number> {
  const scratch = await mkdtemp(path.join(os.tmpdir(), 'darkroom-tally-'));
  const services = await startServices(SEARCH_ATTRIBUTES, process.env, (line) => process.stderr.write(`${line}\n`));
  try {
    const bundle = packageFile('dist/workflow-bundle.js');
    const tallyFile = path.join(scratch, 'tally.json');
    const code = await runNode(tallyFile, {
      ...process.env,
      DARKROOM_TEST_DATABASE_URL: services.databaseUrl,
      DARKROOM_TEST_TEMPORAL_ADDRESS: services.temporalAddress,
      DARKROOM_TEST_TEMPORAL_CLI: services.temporalCli,
      ...(existsSync(bundle) ? { DARKROOM_TEST_WORKFLOW_BUNDLE: bundle } : {}),
    });
    if (code !== 0) return code;
    const tally = await readTally(tallyFile);
    if (tally > 0) return 0;
    process.stderr.write('No test ran: that is a failure.\n');
    return 1;
  } finally {
    await services.stop();
    await rm(scratch, { recursive: true, force: true });
  }
}

async function runNode(tallyFile: string, env: NodeJS.ProcessEnv): Promise<number> {
  const child = spawn(
    process.execPath,
    [
      '--import',
      'tsx',
      `--import=${packageFile('test/support/check-connection-waits.mjs')}`,
      '--test',
      `--test-concurrency=${CONCURRENCY}`,
      `--test-timeout=${FILE_TIMEOUT_MS}`,
      '--test-reporter=spec',
      '--test-reporter-destination=stdout',
      `--test-reporter=${packageFile('test/support/tally-reporter.mjs')}`,
      `--test-reporter-destination=${tallyFile}`,
      ...options,
      ...files,
    ],
    { stdio: 'inherit', env },
  );
  const kill = (): boolean => child.kill('SIGTERM');
  stopRequested.signal.addEventListener('abort', kill);
  if (stopRequested.signal.aborted) kill();
  return new Promise((resolve) => {
    child.once('error', () => resolve(1));
    child.once('exit', (code) => resolve(code ?? 1));
  });
}

async function readTally(file: string): Promise<number> {
  const tally: unknown = JSON.parse(await readFile(file, 'utf8'));
  return typeof tally === 'object' && tally !== null && 'tests' in tally ? Number(tally.tests) : 0;
}
