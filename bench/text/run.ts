/**
 * `npm run bench -- text`: text calls through the api compared with a bare pass-through (pass-through.ts), windows of
 * both in turn, with one upstream behind both, a durable database, and all on one machine.
 *
 * Exits with 0 even if a promise is missed: the bench reports numbers, and they are not failures.
 */
import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { Command, Option } from '@commander-js/extra-typings';
import { packageFile } from '../../src/config/package-root.ts';
import { openDatabase } from '../../src/database/database.ts';
import { migrate } from '../../src/database/migrate.ts';
import { findFreePort } from '../../src/standalone/ports.ts';
import { clusterUrl } from '../../src/standalone/postgres.ts';
import type { Launch } from '../../src/standalone/launch.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { median } from '../measures.ts';
import { createBenchAccount } from '../stage/account.ts';
import { Child, stopAll } from '../stage/children.ts';
import { startBenchCluster } from '../stage/cluster.ts';
import { loadLaunch, roleEnvironment, roleLaunch } from '../stage/node-launch.ts';
import type { TextOrder, TextWindow } from './clients.ts';
import { count, positiveNumber } from '../../test/support/number-options.ts';

/** What is promised. */
const LEAST_WHOLE = 0.35;
const LEAST_STREAMS = 0.75;
const MOST_ADDED_MS = 2;
/** The minimum resident memory in the second half of the calls over that in the first. */
const MOST_GROWTH = 1.15;

const print = (line: string): boolean => process.stdout.write(`${line}\n`);

const options = new Command('npm run bench -- text')
  .description('Measures text calls beside a bare pass-through.')
  .option('--rounds <number>', 'windows of each kind', count, 5)
  .option('--seconds <number>', 'length of a window', positiveNumber, 5)
  .option('--clients <number>', 'connections at once', count, 32)
  .option('--calls <number>', 'calls over which memory is watched; 0: not', count, 100_000)
  .addOption(new Option('--load <kind>', 'only put this load on ours, for a profile').choices(['whole', 'stream']))
  .option('--profile', 'write a CPU profile of the api', false)
  .parse()
  .opts();

const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-bench-text-'));
const resultsDirectory = packageFile('bench/results');
await mkdir(resultsDirectory, { recursive: true });
const children = new Set<Child>();
const helpers = new Set<ChildProcess>();
try {
  await measure();
} finally {
  await stopAll(children);
  for (const helper of helpers) if (helper.connected) helper.disconnect();
  await rm(directory, { recursive: true, force: true });
}

/** A process of the bench that sends a message when it is ready. */
async function startHelper<Ready>(launch: Launch): Promise<{ readonly process: ChildProcess; readonly ready: Ready }> {
  const child = spawn(launch.command, [...launch.args], {
    env: launch.environment,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  helpers.add(child);
  const [ready] = (await once(child, 'message')) as [Ready];
  return { process: child, ready };
}

interface Side {
  readonly port: number;
  readonly apiKey: string;
  readonly model: string;
}

async function measure(): Promise<void> {
  const upstream = await startHelper<{ port: number }>(loadLaunch('text/upstream.ts', []));
  const passThrough = await startHelper<{ port: number }>(
    loadLaunch('text/pass-through.ts', [String(upstream.ready.port)]),
  );
  const clients = (await startHelper<string>(loadLaunch('text/clients.ts', []))).process;
  const cluster = await startBenchCluster(directory, { isDurable: true, children });
  const databaseUrl = clusterUrl(cluster, 'postgres');
  const database = openDatabase({ url: databaseUrl, poolSize: 1 }, silentLogger());
  await migrate(databaseUrl, database, silentLogger());
  const { key } = await createBenchAccount(database);
  await database.close();

  const models = path.join(directory, 'models');
  await mkdir(models);
  await writeFile(path.join(models, 'far.json'), JSON.stringify(modelFile(upstream.ready.port)));
  const port = await findFreePort();
  const environment = {
    ...roleEnvironment({ databaseUrl, storeDirectory: path.join(directory, 'store'), port }),
    MODELS_DIR: models,
  };
  const profiles = options.profile ? path.join(resultsDirectory, 'profiles') : undefined;
  const api = new Child('api', roleLaunch('api', environment, profiles), path.join(directory, 'api.log'));
  children.add(api);
  await api.ready();

  const bare: Side = { port: passThrough.ready.port, apiKey: 'none', model: 'far' };
  const ours: Side = { port, apiKey: key.secret, model: 'bench/far' };
  const runCalls = async (side: Side, order: Omit<TextOrder, keyof Side>): Promise<TextWindow> => {
    clients.send({ ...side, ...order } satisfies TextOrder);
    const [answer] = (await once(clients, 'message')) as [{ result: TextWindow } | { error: string }];
    if ('error' in answer) throw new Error(answer.error);
    return answer.result;
  };

  for (const side of [bare, ours]) {
    for (const isStreamed of [false, true]) await runCalls(side, { isStreamed, clients: options.clients, seconds: 3 });
  }
  if (options.load !== undefined) {
    const { clients, seconds } = options;
    const before = await processorMs(api.pid);
    const { calls, perSecond } = await runCalls(ours, { isStreamed: options.load === 'stream', clients, seconds });
    const each = ((await processorMs(api.pid)) - before) / calls;
    print(`${options.load}: ${perSecond.toFixed(0)}/s, ${(each * 1_000).toFixed(0)} µs of the api's processor each`);
    return;
  }
  const whole = await rounds(
    'unstreamed calls',
    async (side) =>
      (await runCalls(side, { isStreamed: false, clients: options.clients, seconds: options.seconds })).perSecond,
  );
  const streams = await rounds(
    'streams of 50 chunks',
    async (side) =>
      (await runCalls(side, { isStreamed: true, clients: options.clients, seconds: options.seconds })).perSecond,
  );
  const first = await rounds(
    'first byte of a stream, one client',
    async (side) => (await runCalls(side, { isStreamed: true, clients: 1, seconds: options.seconds })).firstByteMs,
  );
  const added = first.ours - first.bare;
  reportFigure(
    'unstreamed calls a second, ours over bare',
    whole.ratio,
    `at least ${LEAST_WHOLE}`,
    whole.ratio >= LEAST_WHOLE,
  );
  reportFigure(
    'streams a second, ours over bare',
    streams.ratio,
    `at least ${LEAST_STREAMS}`,
    streams.ratio >= LEAST_STREAMS,
  );
  reportFigure('added to the first byte, ms', added, `at most ${MOST_ADDED_MS}`, added <= MOST_ADDED_MS);
  const memory = options.calls > 0 ? await watchMemory() : undefined;

  const file = path.join(resultsDirectory, 'text.json');
  const result = { at: new Date().toISOString(), whole, streams, first, addedMs: added, memory };
  await writeFile(file, `${JSON.stringify(result, null, 2)}\n`);
  print(`Results: ${file}`);

  async function rounds(name: string, window: (side: Side) => Promise<number>) {
    const values: Record<'bare' | 'ours', number[]> = { bare: [], ours: [] };
    for (let round = 0; round < options.rounds; round++) {
      // The order changes with each round, so that neither side always follows the other.
      const order = round % 2 === 0 ? (['bare', 'ours'] as const) : (['ours', 'bare'] as const);
      for (const which of order) values[which].push(await window(which === 'bare' ? bare : ours));
    }
    const figures = { ours: median(values.ours), bare: median(values.bare) };
    print(`${name}: ours ${figures.ours.toFixed(2)}, bare ${figures.bare.toFixed(2)}`);
    return { ...figures, ratio: figures.ours / figures.bare, values };
  }

  async function watchMemory() {
    const sizes: number[] = [];
    for (let tenth = 0; tenth < 10; tenth++) {
      await runCalls(ours, { isStreamed: tenth % 2 === 1, clients: options.clients, calls: options.calls / 10 });
      sizes.push(await residentMb(api.pid));
    }
    // Memory that accumulates between two collections is not growth: the minima show growth.
    const growth = Math.min(...sizes.slice(5)) / Math.min(...sizes.slice(0, 5));
    print(
      `resident memory of the api after each tenth of ${options.calls} calls, MB: ${sizes.map(Math.round).join(' ')}`,
    );
    const what = 'least resident memory of the second half over that of the first';
    reportFigure(what, growth, `at most ${MOST_GROWTH}`, growth <= MOST_GROWTH);
    return { sizes, growth };
  }
}

function reportFigure(what: string, value: number, promise: string, isMet: boolean): void {
  print(`${what}: ${value.toFixed(2)}, promised ${promise}: ${isMet ? 'ok' : 'MISSED'}`);
}

function modelFile(port: number): object {
  return {
    name: 'bench/far',
    modality: 'text',
    ownedBy: 'bench',
    created: 1_795_000_000,
    description: 'For measuring.',
    upstreams: [{ protocol: 'openai', baseUrl: `http://127.0.0.1:${port}/v1`, model: 'far' }],
    contextTokens: 128_000,
    maxOutputTokens: 4_096,
    features: [],
    pricing: { unit: 'token', inputUsd: '1', outputUsd: '4' },
  };
}

/** The processor time that a process has used, in milliseconds; Linux counts in hundredths of a second. */
async function processorMs(pid: number): Promise<number> {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).replace(/^.*\) /s, '').split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

async function residentMb(pid: number): Promise<number> {
  const { stdout } = await promisify(execFile)('ps', ['-o', 'rss=', '-p', String(pid)]);
  return Number(stdout.trim()) / 1_024;
}
