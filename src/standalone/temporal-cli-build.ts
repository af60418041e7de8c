/**
 * Builds the Temporal CLI with Go from the official module, as pinned by tools/temporal: for machines that cannot
 * reach the vendor's download but have Go and a module proxy.
 */
import { spawn } from 'node:child_process';
import { rename, rm } from 'node:fs/promises';
import { packageFile } from '../config/package-root.ts';
import type { TemporalCliRequest } from './temporal-cli-download.ts';

const MODULE = 'github.com/temporalio/cli';
/** After five silent minutes a user would believe that it hangs. */
const REPORT_INTERVAL_MS = 15_000;
const KEPT_OUTPUT_CHARACTERS = 2_000;

/** @throws {Error} with the last lines of the compiler. */
export async function buildTemporalCli(request: TemporalCliRequest): Promise<void> {
  const { version, target, environment, report, signal } = request;
  const partial = `${target}.${process.pid}.partial`;
  const flags = `-s -w -X ${MODULE}/internal/temporalcli.Version=${version}`;
  const args = ['build', '-ldflags', flags, '-o', partial, `${MODULE}/cmd/temporal`];
  const startedAt = Date.now();
  const say = (line: string): void => report(`${line} (${Math.round((Date.now() - startedAt) / 1000)} s)`);
  report(`Building the Temporal CLI ${version} from source with Go: about 5 minutes, once.`);
  const timer = setInterval(() => say('Still building the Temporal CLI'), REPORT_INTERVAL_MS);
  try {
    await runGo(args, environment, signal);
    await rename(partial, target);
    say('Built the Temporal CLI');
  } finally {
    clearInterval(timer);
    await rm(partial, { force: true });
  }
}

async function runGo(args: readonly string[], environment: NodeJS.ProcessEnv, signal: AbortSignal): Promise<void> {
  const child = spawn('go', [...args], {
    cwd: packageFile('tools/temporal'),
    env: environment,
    stdio: ['ignore', 'ignore', 'pipe'],
    signal,
  });
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output = (output + text).slice(-KEPT_OUTPUT_CHARACTERS);
  });
  await new Promise<void>((resolve, reject) => {
    child.once('error', () => reject(new Error('Go is not installed, so it cannot be built from source')));
    child.once('close', (code) => {
      if (code === 0) resolve();
      else reject(new Error(`building it with Go failed: ${output.trim().split('\n').slice(-5).join(' / ')}`));
    });
  });
}
