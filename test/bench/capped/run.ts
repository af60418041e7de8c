/**
 * `npm run bench -- capped`: the slots of a capped upstream, through real Temporal (docs/decisions/0016). A backlog of
 * jobs of one second goes to one upstream, with different numbers of workers: how many of its slots are taken while
 * tasks wait, how many of them the upstream really works in, and how long a task takes beside what it would with every
 * slot always at work. An upstream's worker learns of the end of a job from a poll, so that a slot is taken for longer
 * than the job takes.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { rm } from 'node:fs/promises';
import { Command } from '@commander-js/extra-typings';
import { SEARCH_ATTRIBUTES } from '../../../src/temporal/search-attributes.ts';
import { table } from '../../docs/markdown-table.ts';
import { startDarkroom } from '../../support/darkroom.ts';
import type { Darkroom } from '../../support/darkroom.ts';
import { writeModelFiles } from '../../support/model-files.ts';
import { count, counts, positiveNumber } from '../../support/number-options.ts';
import { startServices } from '../../support/services.ts';
import { startTestProvider } from '../../support/test-provider/process.ts';
import { median } from '../measures.ts';

const options = new Command('npm run bench -- capped')
  .description('Measures how well the slots of a capped upstream are used.')
  .option('--workers <numbers...>', 'how many workers', counts, [1, 4, 16])
  .option('--slots <number>', 'the concurrency of the upstream', count, 8)
  .option('--jobs <number>', 'jobs for each slot', count, 20)
  .option('--seconds <number>', 'how long a job takes', positiveNumber, 1)
  .parse()
  .opts();

const { slots, seconds } = options;
const jobs = slots * options.jobs;
const SAMPLE_MS = 100;
const print = (line: string): boolean => process.stdout.write(`${line}\n`);

interface Measured {
  /** Of the slots, while tasks waited for one: those that were taken. */
  readonly taken: number;
  /** The seconds of all jobs, of those that the slots had from the first to the last. */
  readonly working: number;
  /** From the answer that took a job to the poll that saw its end, in seconds. */
  readonly seenSeconds: number;
  /** Of a slot, from the end of a job that was seen to the answer that took the next one, in seconds. */
  readonly betweenSeconds: number;
  /** From the creation to the end, in seconds. */
  readonly medianSeconds: number;
}

async function measure(darkroom: Darkroom): Promise<Measured> {
  const account = await darkroom.createAccount({ runningCap: jobs, queueCap: jobs });
  const { database } = darkroom.testDatabase;
  const input = { prompt: `[slow ${seconds * 1000}]` };
  const created = await Promise.all(
    Array.from({ length: jobs }, () => account.client.create({ model: 'test/capped', input })),
  );
  const rejected = created.find(({ status }) => status !== 200);
  if (rejected !== undefined) throw new Error(JSON.stringify(rejected.body));

  const samples: number[] = [];
  for (;;) {
    const [now] = await database.query<{ open: number; taken: number }>({
      name: 'bench_capped_slots',
      text: `SELECT (SELECT count(*)::integer FROM tasks WHERE completed_at IS NULL) AS open,
                    (SELECT count(*)::integer FROM upstream_slots) AS taken`,
    });
    if (now === undefined || now.open === 0) break;
    if (now.open >= 2 * slots && (samples.length > 0 || now.taken === slots)) samples.push(now.taken);
    await delay(SAMPLE_MS);
  }
  const [whole] = await database.query<{ window: number; seen: number; times: number[]; failed: number }>({
    name: 'bench_capped_times',
    text: `SELECT extract(epoch FROM max(completed_at) - min(started_at))::float8 AS window,
                  (SELECT avg(extract(epoch FROM p.at - s.at))::float8
                     FROM task_events s JOIN task_events p ON p.task_id = s.task_id AND p.type = 'produced'
                    WHERE s.type = 'submitted') AS seen,
                  array_agg(extract(epoch FROM completed_at - created_at)::float8) AS times,
                  count(*) FILTER (WHERE status = 'fail')::integer AS failed
             FROM tasks`,
  });
  if (whole === undefined || whole.failed > 0) throw new Error(`${whole?.failed} tasks failed`);
  return {
    taken: samples.reduce((sum, each) => sum + each, 0) / samples.length / slots,
    working: (jobs * seconds) / (slots * whole.window),
    seenSeconds: whole.seen,
    betweenSeconds: (slots * whole.window) / jobs - whole.seen,
    medianSeconds: median(whole.times),
  };
}

async function measureWith(workers: number): Promise<Measured> {
  const provider = await startTestProvider();
  const modelsDir = await writeModelFiles(provider.url, {
    capped: [{ protocol: 'replicate', id: 'capped', concurrency: slots }],
  });
  try {
    const environment = { MODELS_DIR: modelsDir, UPSTREAM_TEST_KEY: 'test-key', EGRESS_ALLOW: provider.url };
    const darkroom = await startDarkroom({ workers, environment });
    try {
      return await measure(darkroom);
    } finally {
      await darkroom.stop();
    }
  } finally {
    await provider.stop();
    await rm(modelsDir, { recursive: true, force: true });
  }
}

print('Starting PostgreSQL and Temporal.');
const services = await startServices(SEARCH_ATTRIBUTES, process.env, print);
try {
  process.env['DARKROOM_TEST_DATABASE_URL'] = services.databaseUrl;
  process.env['DARKROOM_TEST_TEMPORAL_ADDRESS'] = services.temporalAddress;
  const rows: (readonly string[])[] = [];
  for (const workers of options.workers) {
    const { taken, working, seenSeconds, betweenSeconds, medianSeconds } = await measureWith(workers);
    const ideal = (jobs / slots / 2) * seconds;
    const percent = (share: number): string => `${Math.round(share * 100)} %`;
    const times = [seenSeconds, betweenSeconds, medianSeconds, ideal].map((each) => each.toFixed(2));
    rows.push([String(workers), percent(taken), percent(working), ...times]);
    print(rows.at(-1)?.join('  ') ?? '');
  }
  print(
    `\n${table(['workers', 'slots taken', 'slots at work', 'job as seen s', 'between jobs s', 'median s', 'ideal s'], rows)}`,
  );
} finally {
  await services.stop();
}
