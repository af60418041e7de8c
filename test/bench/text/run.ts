/**
 * `npm run bench -- text`: text calls through the api compared with a bare pass-through (pass-through.ts), windows of
 * both in turn, with one upstream behind both, a durable database, and all on one machine.
 *
 * Exits with 0 even if a promise is missed: the bench reports numbers, and they are not failures.
 */
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { Command, Option } from '@commander-js/extra-typings';
import { packageFile } from '../../../src/config/package-root.ts';
import { processorMsOf } from '../cost/processor-time.ts';
import { median } from '../measures.ts';
import { TextStage } from './text-stage.ts';
import type { TextSide } from './text-stage.ts';
import { count, positiveNumber } from '../../support/number-options.ts';

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

const resultsDirectory = packageFile('test/bench/results');
await mkdir(resultsDirectory, { recursive: true });
const stage = await TextStage.open(options.profile ? path.join(resultsDirectory, 'profiles') : undefined);
try {
  await measure();
} finally {
  await stage.close();
}

async function measure(): Promise<void> {
  await stage.warmUp(options.clients);
  if (options.load !== undefined) {
    const { clients, seconds } = options;
    const before = await processorMsOf(stage.apiPid);
    const { calls, perSecond } = await stage.run('ours', { isStreamed: options.load === 'stream', clients, seconds });
    const each = ((await processorMsOf(stage.apiPid)) - before) / calls;
    print(`${options.load}: ${perSecond.toFixed(0)}/s, ${(each * 1_000).toFixed(0)} µs of the api's processor each`);
    return;
  }
  const whole = await rounds(
    'unstreamed calls',
    async (side) =>
      (await stage.run(side, { isStreamed: false, clients: options.clients, seconds: options.seconds })).perSecond,
  );
  const streams = await rounds(
    'streams of 50 chunks',
    async (side) =>
      (await stage.run(side, { isStreamed: true, clients: options.clients, seconds: options.seconds })).perSecond,
  );
  const first = await rounds(
    'first byte of a stream, one client',
    async (side) => (await stage.run(side, { isStreamed: true, clients: 1, seconds: options.seconds })).firstByteMs,
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

  async function rounds(name: string, window: (side: TextSide) => Promise<number>) {
    const values: Record<'bare' | 'ours', number[]> = { bare: [], ours: [] };
    for (let round = 0; round < options.rounds; round++) {
      // The order changes with each round, so that neither side always follows the other.
      const order = round % 2 === 0 ? (['bare', 'ours'] as const) : (['ours', 'bare'] as const);
      for (const which of order) values[which].push(await window(which));
    }
    const figures = { ours: median(values.ours), bare: median(values.bare) };
    print(`${name}: ours ${figures.ours.toFixed(2)}, bare ${figures.bare.toFixed(2)}`);
    return { ...figures, ratio: figures.ours / figures.bare, values };
  }

  async function watchMemory() {
    const sizes: number[] = [];
    for (let tenth = 0; tenth < 10; tenth++) {
      await stage.run('ours', { isStreamed: tenth % 2 === 1, clients: options.clients, calls: options.calls / 10 });
      sizes.push(await residentMb(stage.apiPid));
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

async function residentMb(pid: number): Promise<number> {
  const { stdout } = await promisify(execFile)('ps', ['-o', 'rss=', '-p', String(pid)]);
  return Number(stdout.trim()) / 1_024;
}
