/**
 * `npm run bench -- engine-fairness`: how long another account's image waits while one account's long videos occupy
 * every engine thread, compared with the same image on an idle pool just before, for each number of threads. Also the
 * cost of taking turns: the time of a video while small images of another account arrive one after the other, their
 * time included, over its time alone.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { Command } from '@commander-js/extra-typings';
import type { EnginePool } from '../../../src/providers/embedded/engine-pool.ts';
import { createEnginePool } from '../../../src/providers/embedded/engine-pool.ts';
import type { EngineJob } from '@darkroom/engines/engine';
import { silentLogger } from '../../../src/telemetry/log.ts';
import { counts, positiveNumber } from '../../support/number-options.ts';

const VIDEOS = 4;

const options = new Command('npm run bench -- engine-fairness')
  .description('Measures how long an image waits for videos of another account.')
  .option('--threads <numbers...>', 'numbers of engine threads; default: 1 2 4', counts)
  .option('--resolution <name>', 'of the videos', '4k')
  .option('--seconds <number>', 'length of the videos', positiveNumber, 30)
  .option('--turns <number>', 'length of the video for the cost of taking turns, at 480p', positiveNumber, 2)
  .parse()
  .opts();

const print = (line: string): boolean => process.stdout.write(`${line}\n`);
const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-fairness-'));
const never = new AbortController().signal;

async function video(duration: number, resolution: string): Promise<EngineJob> {
  const scratch = await mkdtemp(path.join(directory, 'video-'));
  const input = { prompt: 'a sailing boat on the sea at sunset, birds', duration, resolution };
  return { engine: 'film', input, fallbackSeed: 1, media: new Map(), scratch };
}

/** @returns milliseconds. */
async function imageTime(pool: EnginePool): Promise<number> {
  const input = { prompt: 'a city at night, oil painting' };
  const start = performance.now();
  await pool.render(
    { engine: 'scene', input, fallbackSeed: 1, media: new Map(), scratch: '' },
    { tenant: 'small', signal: never },
  );
  return performance.now() - start;
}

async function measureWait(threads: number): Promise<void> {
  const pool = createEnginePool({ threads, logger: silentLogger() });
  const stop = new AbortController();
  await imageTime(pool);
  const idle = await imageTime(pool);
  const jobs = await Promise.all(Array.from({ length: VIDEOS }, () => video(options.seconds, options.resolution)));
  let begun = 0;
  let over = 0;
  const videos = await new Promise<Promise<unknown>[]>((resolve) => {
    const running: Promise<unknown>[] = jobs.map(async (job) => {
      let isBegun = false;
      const onProgress = (): void => {
        if (isBegun) return;
        isBegun = true;
        begun += 1;
        if (begun === Math.min(threads, VIDEOS)) resolve(running);
      };
      await pool.render(job, { tenant: 'large', signal: stop.signal, onProgress }).then(
        () => (over += 1),
        () => {},
      );
    });
  });
  const first = await imageTime(pool);
  const second = await imageTime(pool);
  const ms = (value: number): string => `${value.toFixed(0)} ms`;
  print(`${threads} threads: idle ${ms(idle)}, behind videos ${ms(first)}, then ${ms(second)}; videos over: ${over}`);
  stop.abort();
  await Promise.all(videos);
  await pool.close();
}

async function measureTurns(): Promise<void> {
  const pool = createEnginePool({ threads: 1, logger: silentLogger() });
  const timed = async (): Promise<number> => {
    const start = performance.now();
    await pool.render(await video(options.turns, '480p'), { tenant: 'large', signal: never });
    return performance.now() - start;
  };
  await timed();
  const alone = await timed();
  let isOver = false;
  let pauses = 0;
  const shared = timed().finally(() => (isOver = true));
  const work = { engine: 'swatch', input: { prompt: 'teal' }, fallbackSeed: 1, media: new Map(), scratch: '' };
  while (!isOver) {
    await pool.render(work, { tenant: 'small', signal: never });
    pauses += 1;
  }
  const ratio = ((await shared) / alone).toFixed(2);
  print(
    `video of ${options.turns} s at 480p: ${alone.toFixed(0)} ms alone; with ${pauses} small images: ${ratio} of that`,
  );
  await pool.close();
}

try {
  for (const threads of options.threads ?? [1, 2, 4]) await measureWait(threads);
  await measureTurns();
} finally {
  await rm(directory, { recursive: true, force: true });
}
