/**
 * `npm run bench -- videos`: many videos at once through the whole service. Reported: whether all of them succeeded,
 * how long they took compared with one alone, the latency of a client of small tasks meanwhile compared with its
 * latency on an idle service, the memory of both processes with their media children, and whether heartbeats lapsed
 * according to Temporal's histories. None may lapse: a busy worker must not look dead.
 *
 * Exits with 0 even if something is missed: the bench reports numbers, and they are not failures.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import os from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command, Option } from '@commander-js/extra-typings';
import { packageFile } from '../../../src/config/package-root.ts';
import type { Database } from '../../../src/database/database.ts';
import { median } from '../measures.ts';
import { createBenchAccount } from '../stage/account.ts';
import { SCENES, createVideos } from './videos.ts';
import type { CreatedVideo } from './videos.ts';
import { tallyActivities } from './histories.ts';
import { treeMemory, watchMemory } from './memory.ts';
import type { TreeMemory } from './memory.ts';
import { startProbes } from './probes.ts';
import type { Latency } from './probes.ts';
import { withService } from './service.ts';
import type { Service } from './service.ts';
import { count, positiveNumber } from '../../support/number-options.ts';

/** The last small tasks wait for the last videos. */
const CHECK_INTERVAL_MS = 1_000;

const selectSpans = {
  name: 'bench_select_spans',
  text: `SELECT extract(epoch FROM completed_at - created_at)::float8 AS total,
                extract(epoch FROM completed_at - started_at)::float8 AS handled
           FROM tasks WHERE id = ANY ($1) AND status = 'success' ORDER BY array_position($1, id)`,
};
const countTasks = {
  name: 'bench_count_tasks',
  text: `SELECT count(*) FILTER (WHERE completed_at IS NULL)::integer AS open,
                count(*) FILTER (WHERE status = 'success')::integer AS succeeded
           FROM tasks WHERE id = ANY ($1)`,
};

const print = (line: string): boolean => process.stdout.write(`${line}\n`);

const options = new Command('npm run bench -- videos')
  .description('Measures the whole service while many videos are made.')
  .option('--videos <number>', 'videos at once', count, 20)
  .option('--duration <number>', 'length of a video in seconds', positiveNumber, 5)
  .addOption(new Option('--resolution <name>', 'of the videos').choices(['480p', '720p']).default('720p'))
  .option('--seconds <number>', 'length of the idle window', positiveNumber, 60)
  .parse()
  .opts();

print('Starting PostgreSQL, Temporal, the api and the worker.');
await withService(print, measure);

async function measure({ database, temporal, port, pids }: Service): Promise<void> {
  const { key } = await createBenchAccount(database);
  const other = await createBenchAccount(database);
  const videos = createVideos(port, key.secret, { duration: options.duration, resolution: options.resolution });
  const probe = (created: (taskId: string) => void = () => {}) => startProbes(port, other.key.secret, created);

  print(`Warming up, and making videos alone (${videos.description}).`);
  const warmUp = await probe();
  await videos.make(1);
  await warmUp.stop();
  const alone: CreatedVideo[] = [];
  for (let scene = 0; scene < SCENES; scene++) alone.push(...(await videos.make(1, scene)));
  const aloneSeconds = (await spansOf(database, idsOf(alone))).map(({ total }) => total);
  if (aloneSeconds.length < SCENES) throw new Error(`a video alone failed: ${JSON.stringify(alone)}`);

  const idleProbes = await probe();
  await sleep(options.seconds * 1000);
  const idle = await idleProbes.stop();
  const idleMemory = await treeMemory(pids);
  print(`idle: ${describe('a read', idle.read)}, ${describe('a create', idle.create)}; ${describeMemory(idleMemory)}`);

  const smallTasks: string[] = [];
  const memory = watchMemory(pids);
  const probes = await probe((taskId) => smallTasks.push(taskId));
  const begun = performance.now();
  const made = await videos.make(options.videos);
  const wallSeconds = (performance.now() - begun) / 1000;
  const busy = await probes.stop();
  const peak = await memory.stop();
  print(`meanwhile: ${describe('a read', busy.read)}, ${describe('a create', busy.create)}; ${describeMemory(peak)}`);

  const problems = (await Promise.all(made.map(videos.problemOf))).filter((problem) => problem !== undefined);
  const ids = idsOf(made);
  const spans = await spansOf(database, ids);
  const tally = await tallyActivities(temporal, ids);
  const small = await waitForOver(database, smallTasks);
  const smallSpans = await spansOf(database, smallTasks);

  const inTurn = wallSeconds / made.reduce((sum, _, index) => sum + (aloneSeconds[index % SCENES] ?? 0), 0);
  const ratios = {
    readMedian: busy.read.medianMs / idle.read.medianMs,
    readP99: busy.read.p99Ms / idle.read.p99Ms,
    createMedian: busy.create.medianMs / idle.create.medianMs,
    createP99: busy.create.p99Ms / idle.create.p99Ms,
    workerMemory: peak.worker.kb / idleMemory.worker.kb,
    apiMemory: peak.api.kb / idleMemory.api.kb,
  };
  const verdict = (isMet: boolean): string => (isMet ? 'ok' : 'MISSED');
  const succeeded = options.videos - problems.length;
  const isCalm = tally.heartbeatsLapsed === 0 && tally.triedAgain === 0 && tally.timedOut === 0;
  print('');
  print(
    `videos: ${succeeded} of ${options.videos} succeeded, ${videos.description}: ${verdict(problems.length === 0)}`,
  );
  print(`wall time: ${wallSeconds.toFixed(1)} s, ${inTurn.toFixed(2)} of as many alone in turn`);
  print(`  one alone, from create to success: ${spread(aloneSeconds)}`);
  print(`  each, from create to success: ${spread(spans.map(({ total }) => total))}`);
  print(`  each, since it was begun: ${spread(spans.map(({ handled }) => handled))}`);
  print(`reads meanwhile: ${ratios.readMedian.toFixed(2)} times (median), ${ratios.readP99.toFixed(2)} times (p99)`);
  print(
    `creates meanwhile: ${ratios.createMedian.toFixed(2)} times (median), ${ratios.createP99.toFixed(2)} times (p99)`,
  );
  print(
    `memory at the peak: the worker ${megabytes(peak.worker)}, ${ratios.workerMemory.toFixed(2)} times; ` +
      `the api ${megabytes(peak.api)}, ${ratios.apiMemory.toFixed(2)} times`,
  );
  print(
    `heartbeats: ${tally.heartbeatsLapsed} lapsed, ${tally.triedAgain} of ${tally.activities} activities tried again, ` +
      `${tally.timedOut} given up, promised none: ${verdict(isCalm)}`,
  );
  print(`  workflow tasks that failed or timed out: ${tally.workflowTasksLost}`);
  print(
    `small tasks: ${small} of ${smallTasks.length} succeeded, from create to success ` +
      `${spread(smallSpans.map(({ total }) => total))}: ${verdict(small === smallTasks.length)}`,
  );
  for (const problem of problems) print(`\nA VIDEO FAILED: ${problem}`);
  if (!isCalm) print('\nHEARTBEATS LAPSED, OR WORK WAS DONE AGAIN: a worker that is busy looked dead.');

  await mkdir(packageFile('test/bench/results'), { recursive: true });
  const file = packageFile('test/bench/results/videos.json');
  const machine = { cpus: os.cpus().length, model: os.cpus()[0]?.model, node: process.version };
  const { videos: count, duration, resolution } = options;
  const result = {
    at: new Date().toISOString(),
    machine,
    videos: { count, duration, resolution, succeeded, problems, wallSeconds, inTurn, aloneSeconds, spans },
    latency: { idle, busy },
    memory: { idle: idleMemory, peak },
    ratios,
    activities: tally,
    smallTasks: { created: smallTasks.length, succeeded: small },
  };
  await writeFile(file, `${JSON.stringify(result, null, 2)}\n`);
  print(`Results: ${file}`);
}

/** In seconds, of tasks that succeeded. */
interface Span {
  readonly total: number;
  readonly handled: number;
}

function idsOf(videos: readonly CreatedVideo[]): readonly string[] {
  return videos.map(({ taskId }) => taskId);
}

function spansOf(database: Database, ids: readonly string[]): Promise<readonly Span[]> {
  return database.query<Span>(selectSpans, [ids]);
}

/** Waits until all of them have ended. @returns how many succeeded. */
async function waitForOver(database: Database, ids: readonly string[]): Promise<number> {
  for (;;) {
    const [row] = await database.query<{ open: number; succeeded: number }>(countTasks, [ids]);
    if (row?.open === 0) return row.succeeded;
    await sleep(CHECK_INTERVAL_MS);
  }
}

function describe(what: string, { medianMs, p99Ms, requests }: Latency): string {
  return `${what} takes ${medianMs.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms (of ${requests})`;
}

function describeMemory({ api, worker }: Readonly<Record<'api' | 'worker', TreeMemory>>): string {
  return `the api holds ${megabytes(api)}, the worker ${megabytes(worker)}`;
}

function megabytes({ kb, processes }: TreeMemory): string {
  return `${Math.round(kb / 1024)} MB${processes === 1 ? '' : ` in ${processes} processes`}`;
}

function spread(seconds: readonly number[]): string {
  if (seconds.length === 0) return 'none';
  const [least, most] = [Math.min(...seconds), Math.max(...seconds)];
  return `${least.toFixed(1)}–${most.toFixed(1)} s, median ${median(seconds).toFixed(1)} s`;
}
