/**
 * `npm run bench -- large-bodies`: what bodies of ten megabytes cost others (docs/decisions/0017). How long the event
 * loop of the api is blocked at most, with one such body of each shape at each endpoint; and how long small requests
 * wait during twenty of them at once, over how long they wait on an idle api.
 *
 * Exits with 0 even if a promise is missed: the bench reports numbers, and they are not failures.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { Command } from '@commander-js/extra-typings';
import { packageFile, packageModule } from '../../../src/config/package-root.ts';
import { openDatabase } from '../../../src/database/database.ts';
import type { Database } from '../../../src/database/database.ts';
import { migrate } from '../../../src/database/migrate.ts';
import { findFreePort } from '../../../src/standalone/ports.ts';
import type { Launch } from '../../../src/standalone/processes.ts';
import { clusterUrl } from '../../../src/standalone/postgres.ts';
import { silentLogger } from '../../../src/telemetry/log.ts';
import { describeHealthy, healthyFor } from '../load/healthy-clients.ts';
import { median } from '../measures.ts';
import { createBenchAccount } from '../stage/account.ts';
import { Child, stopAll } from '../stage/children.ts';
import { startBenchCluster } from '../stage/cluster.ts';
import { loadLaunch, roleEnvironment, roleLaunch } from '../stage/node-launch.ts';
import { TASK_MODEL, TEXT_MODEL, largeBodies } from './bodies.ts';
import type { LargeBody } from './bodies.ts';
import type { Pauses } from './probe.ts';
import { count, positiveNumber } from '../../support/number-options.ts';

/** What is promised: for one body, and for twenty at once. */
const MOST_PAUSE_MS = 50;
const MOST_SLOWER = 3;
/** Five accounts, so that none exceeds its limit of bytes in flight. */
const SENDERS = 20;
const ACCOUNTS = 5;
/** The limit of bytes per minute is not measured here. */
const LIMITS = { BODY_MB_PER_MINUTE: '1000000', BODY_MB_IN_FLIGHT: '1024' };
const SMALL_CLIENTS = { clients: 5, everyMs: 25, model: TASK_MODEL };

const print = (line: string): boolean => process.stdout.write(`${line}\n`);

const options = new Command('npm run bench -- large-bodies')
  .description('Measures what bodies of ten megabytes cost others.')
  .option('--rounds <number>', 'times each body is sent', count, 5)
  .option('--seconds <number>', 'how long small requests are measured, quietly and beside', positiveNumber, 20)
  .option('--names <number>', 'bytes of all names of members in a body', count, 900_000)
  .option('--only <words...>', 'only bodies whose path or name has this in it')
  .option('--profile', 'write a CPU profile of the api', false)
  .parse()
  .opts();

const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-bench-bodies-'));
const resultsDirectory = packageFile('test/bench/results');
const children = new Set<Child>();
const helpers = new Set<ChildProcess>();
try {
  await measure();
} finally {
  await stopAll(children);
  for (const helper of helpers) if (helper.connected) helper.disconnect();
  await rm(directory, { recursive: true, force: true });
}

interface Api {
  readonly port: number;
  readonly probePort: number;
}

async function measure(): Promise<void> {
  const { api, keys } = await start();
  const bodies = largeBodies(options.names).filter(isChosen);
  const pauses: object[] = [];
  for (const body of bodies) pauses.push(await measurePauses(api, keys[0] ?? '', body));
  const beside = options.seconds > 0 ? await measureBeside(api, keys) : undefined;

  await mkdir(resultsDirectory, { recursive: true });
  const file = path.join(resultsDirectory, 'large-bodies.json');
  await writeFile(file, `${JSON.stringify({ at: new Date().toISOString(), pauses, beside }, null, 2)}\n`);
  print(`Results: ${file}`);
}

function isChosen({ path: where, name }: LargeBody): boolean {
  return options.only?.some((part) => `${where} ${name}`.includes(part)) ?? true;
}

async function start(): Promise<{ readonly api: Api; readonly keys: readonly string[] }> {
  const upstream = await startHelper<{ port: number }>(loadLaunch('text/upstream.ts', []));
  const cluster = await startBenchCluster(directory, { isDurable: true, children });
  const databaseUrl = clusterUrl(cluster, 'postgres');
  const database = openDatabase({ url: databaseUrl, poolSize: 1 }, silentLogger());
  await migrate(databaseUrl, database, silentLogger());
  const keys = await newKeys(database, ACCOUNTS + 1);
  await database.close();

  const models = path.join(directory, 'models');
  await mkdir(models);
  await writeFile(path.join(models, 'open.json'), JSON.stringify(taskModel()));
  await writeFile(path.join(models, 'far.json'), JSON.stringify(textModel(upstream.ready.port)));
  const [port, probePort] = [await findFreePort(), await findFreePort()];
  const environment = {
    ...roleEnvironment({ databaseUrl, storeDirectory: path.join(directory, 'store'), port }),
    ...LIMITS,
    MODELS_DIR: models,
    BENCH_PROBE_PORT: String(probePort),
  };
  const profiles = options.profile ? path.join(resultsDirectory, 'profiles') : undefined;
  const launch = roleLaunch('api', environment, profiles);
  const probe = pathToFileURL(packageModule('test/bench/large-bodies/probe.ts')).href;
  const probed = { ...launch, args: ['--import', probe, ...launch.args] };
  const child = new Child('api', probed, path.join(directory, 'api.log'));
  children.add(child);
  await child.ready();
  return { api: { port, probePort }, keys };
}

async function newKeys(database: Database, count: number): Promise<readonly string[]> {
  const keys: string[] = [];
  for (let index = 0; index < count; index++) keys.push((await createBenchAccount(database)).key.secret);
  return keys;
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

/** One body, several times. */
async function measurePauses({ port, probePort }: Api, apiKey: string, body: LargeBody): Promise<object> {
  const found: Pauses[] = [];
  let status = 0;
  let answer: string = '';
  // The first of them compiles the code that it runs.
  for (let round = 0; round <= options.rounds; round++) {
    await takePauses(probePort);
    const response = await fetch(`http://127.0.0.1:${port}${body.path}`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json', Accept: 'application/json' },
      body: body.text,
    });
    ({ status } = response);
    answer = await response.text();
    const pauses = await takePauses(probePort);
    if (round > 0) found.push(pauses);
  }
  const wallMs = median(found.map((each) => each.wallMs));
  const processorMs = median(found.map((each) => each.processorMs));
  const where = `${body.path} ${body.name} (${(Buffer.byteLength(body.text) / 1e6).toFixed(1)} MB, ${status})`;
  const figures = `${processorMs.toFixed(0).padStart(4)} ms of the processor, ${wallMs.toFixed(0).padStart(4)} ms`;
  print(`${where.padEnd(60)} ${figures}${processorMs <= MOST_PAUSE_MS ? '' : '  MISSED'}`);
  if (status !== 200) print(`  ${answer.slice(0, 300)}`);
  return { path: body.path, name: body.name, status, processorMs, wallMs, found };
}

async function takePauses(probePort: number): Promise<Pauses> {
  const answer = await fetch(`http://127.0.0.1:${probePort}/`);
  return (await answer.json()) as Pauses;
}

/** Small requests on an idle api, then during twenty bodies at once of the most expensive shape, then of one text. */
async function measureBeside({ port, probePort }: Api, [own = '', ...others]: readonly string[]): Promise<object> {
  const clients = { port, apiKey: own, ...SMALL_CLIENTS };
  await healthyFor(clients, 3);
  const quiet = await healthyFor(clients, options.seconds);
  print(`quiet: ${describeHealthy(quiet)}`);
  const found: object[] = [];
  for (const name of ['names of members', 'one text']) {
    const body = largeBodies(options.names).find((each) => each.path === '/v1/tasks/estimate' && each.name === name);
    const file = path.join(directory, 'body.json');
    await writeFile(file, body?.text ?? '');
    const args = [String(port), file, String(SENDERS), ...others];
    const senders = (await startHelper(loadLaunch('large-bodies/senders.ts', args))).process;
    await takePauses(probePort);
    const beside = await healthyFor(clients, options.seconds);
    const pauses = await takePauses(probePort);
    senders.send('report');
    const [statuses] = (await once(senders, 'message')) as [Readonly<Record<string, number>>];
    senders.disconnect();
    await once(senders, 'exit');
    const ratio = beside.p99Ms / quiet.p99Ms;
    print(`beside ${SENDERS} (${name}): ${describeHealthy(beside)}; the bodies: ${JSON.stringify(statuses)}`);
    print(
      `  p99 over quiet: ${ratio.toFixed(2)}, promised at most ${MOST_SLOWER}: ${ratio <= MOST_SLOWER ? 'ok' : 'MISSED'}`,
    );
    print(
      `  longest pause of the event loop: ${pauses.processorMs.toFixed(0)} ms of the processor, ${pauses.wallMs.toFixed(0)} ms`,
    );
    found.push({ name, beside, statuses, ratio, pauses });
  }
  return { quiet, found };
}

/** Accepts any input, so that an input goes through all processing. */
function taskModel(): object {
  return {
    name: TASK_MODEL,
    modality: 'image',
    ownedBy: 'bench',
    created: 1_795_000_000,
    description: 'For measuring.',
    routes: { default: { upstreams: [{ protocol: 'embedded', model: 'swatch' }] } },
    inputSchema: {
      type: 'object',
      additionalProperties: false,
      required: ['prompt'],
      properties: { prompt: { type: 'string', maxLength: 10_000_000 }, data: {} },
    },
    pricing: { unit: 'image', usd: '0' },
    limits: { queuedSeconds: 86_400, handlingSeconds: 600, archivingSeconds: 1_800 },
    typicalSeconds: 0,
    examples: [{ prompt: 'teal' }],
  };
}

function textModel(port: number): object {
  return {
    name: TEXT_MODEL,
    modality: 'text',
    ownedBy: 'bench',
    created: 1_795_000_000,
    description: 'For measuring.',
    upstreams: [{ protocol: 'openai', baseUrl: `http://127.0.0.1:${port}/v1`, model: 'far' }],
    contextTokens: 100_000_000,
    maxOutputTokens: 4_096,
    features: ['tools', 'images'],
    pricing: { unit: 'token', inputUsd: '1', outputUsd: '4' },
  };
}
