/**
 * `npm run bench -- slow-clients`: healthy clients next to many that are slow on purpose and a stream of garbage. How
 * long the healthy ones wait, without and under attack, how much memory the api takes, and whether any response was
 * 5xx.
 *
 * Exits with 0 even if a result is bad: the bench reports numbers, and they are not failures.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Command } from '@commander-js/extra-typings';
import { packageFile } from '../../../src/config/package-root.ts';
import { openDatabase } from '../../../src/database/database.ts';
import { migrate } from '../../../src/database/migrate.ts';
import { findFreePort } from '../../../src/standalone/ports.ts';
import { clusterUrl } from '../../../src/standalone/postgres.ts';
import { silentLogger } from '../../../src/telemetry/log.ts';
import { describeHealthy, healthyFor } from '../load/healthy-clients.ts';
import { createBenchAccount } from '../stage/account.ts';
import { Child, stopAll } from '../stage/children.ts';
import { startBenchCluster } from '../stage/cluster.ts';
import { loadLaunch, roleEnvironment, roleLaunch } from '../stage/node-launch.ts';
import type { AttackReport } from './attackers.ts';
import { count, positiveNumber } from '../../support/number-options.ts';

/** The default configuration of an api: the limits are part of what is measured. */
const DEFAULT_LIMITS = { MAX_CONNECTIONS: '10000', MAX_CONNECTIONS_PER_ADDRESS: '1000' };
const WARM_UP_SECONDS = 3;
/** More than the sockets themselves buffer. */
const LARGE_FILE_BYTES = 20_000_000;
const MEMORY_EVERY_MS = 500;

const print = (line: string): boolean => process.stdout.write(`${line}\n`);

const options = new Command('npm run bench -- slow-clients')
  .description('Measures healthy clients beside slow ones and garbage.')
  .option('--seconds <number>', 'how long the attack lasts', positiveNumber, 120)
  .option('--quiet <number>', 'how long is measured without it', positiveNumber, 20)
  .option('--slow <number>', 'slow connections', count, 500)
  .option('--garbage <number>', 'requests a second that are none', count, 200)
  .parse()
  .opts();

const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-bench-slow-'));
const children = new Set<Child>();
let attackers: ChildProcess | undefined;
try {
  await measure();
} finally {
  if (attackers?.connected === true) attackers.disconnect();
  await stopAll(children);
  await rm(directory, { recursive: true, force: true });
}

async function measure(): Promise<void> {
  const cluster = await startBenchCluster(directory, { isDurable: true, children });
  const databaseUrl = clusterUrl(cluster, 'postgres');
  const database = openDatabase({ url: databaseUrl, poolSize: 1 }, silentLogger());
  await migrate(databaseUrl, database, silentLogger());
  const { key } = await createBenchAccount(database);
  await database.close();
  const port = await findFreePort();
  const environment = {
    ...roleEnvironment({ databaseUrl, storeDirectory: path.join(directory, 'store'), port }),
    ...DEFAULT_LIMITS,
  };
  const api = new Child('api', roleLaunch('api', environment, undefined), path.join(directory, 'api.log'));
  children.add(api);
  await api.ready();
  const file = await uploadLargeFile(port, key.secret);

  await healthyFor({ port, apiKey: key.secret }, WARM_UP_SECONDS);
  const quietMb = await residentMb(api.pid);
  const quiet = await healthyFor({ port, apiKey: key.secret }, options.quiet);
  print(`quiet: ${describeHealthy(quiet)}, the api holds ${quietMb.toFixed(0)} MB`);

  const { slow, garbage, seconds } = options;
  const launch = loadLaunch('slow-clients/attackers.ts', [port, key.secret, file, slow, garbage].map(String));
  attackers = spawn(launch.command, [...launch.args], {
    env: launch.environment,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  await once(attackers, 'message');
  let mostMb = 0;
  const watching = setInterval(() => {
    void residentMb(api.pid).then((mb) => {
      mostMb = Math.max(mostMb, mb);
    });
  }, MEMORY_EVERY_MS);
  const attacked = await healthyFor({ port, apiKey: key.secret }, seconds);
  clearInterval(watching);
  attackers.send('report');
  const [report] = (await once(attackers, 'message')) as [AttackReport];
  print(`attacked: ${describeHealthy(attacked)}, the api held ${mostMb.toFixed(0)} MB at most`);
  const ratios = { p50: attacked.p50Ms / quiet.p50Ms, p99: attacked.p99Ms / quiet.p99Ms };
  print(`attacked over quiet: p50 ${ratios.p50.toFixed(2)}, p99 ${ratios.p99.toFixed(2)}`);
  print(`${slow} slow connections, of which ${report.cut} were cut and came again; ${report.garbage} times garbage`);
  print(`what the attackers were answered: ${JSON.stringify(report.statuses)}`);
  const broken = Object.entries(report.statuses).filter(([status]) => status.startsWith('5'));
  const serverErrors = broken.reduce((sum, [, count]) => sum + count, quiet.serverErrors + attacked.serverErrors);
  print(`5xx in all: ${serverErrors}; healthy requests that failed: ${attacked.failed}`);

  await mkdir(packageFile('test/bench/results'), { recursive: true });
  const results = packageFile('test/bench/results/slow-clients.json');
  const result = { at: new Date().toISOString(), options: { slow, garbage, seconds }, quiet, attacked, ratios };
  await writeFile(results, `${JSON.stringify({ ...result, quietMb, mostMb, report, serverErrors }, null, 2)}\n`);
  print(`Results: ${results}`);
}

/** @returns the path of a file that a client can read slowly. */
async function uploadLargeFile(port: number, apiKey: string): Promise<string> {
  const bytes = Buffer.alloc(LARGE_FILE_BYTES);
  // Silence, as a WAVE file.
  const head = Buffer.from(
    'RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x40\x1f\0\0\x01\0\x08\0data\0\0\0\0',
    'latin1',
  );
  head.writeUInt32LE(LARGE_FILE_BYTES - 8, 4);
  head.writeUInt32LE(LARGE_FILE_BYTES - head.length, head.length - 4);
  head.copy(bytes);
  const response = await fetch(`http://127.0.0.1:${port}/v1/files`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'audio/wav' },
    body: bytes,
  });
  const answer = await response.text();
  if (response.status !== 200) throw new Error(`the upload was answered ${response.status}: ${answer}`);
  return new URL((JSON.parse(answer) as { data: { url: string } }).data.url).pathname;
}

/** Of a process, on Linux. */
async function residentMb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1_024;
}
