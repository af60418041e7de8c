/**
 * `npm run bench -- video-encoding`: how long a video takes compared with the encoder alone, which is fed the very same
 * frames, ready in memory, with the same preset in the same kind of process. The promise is a ratio of at most 1.5 at
 * 720p and 5 s. Both alternate; figures are medians, and next to their ratio stands the ratio of the fastest of each,
 * which other load on the machine affects least. Also reported: the time to paint a frame, and the memory of the
 * thread's process and of the encoder's.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { Command } from '@commander-js/extra-typings';
import { planVideo, renderVideo } from '@darkroom/engines/video';
import { renderFrames } from '@darkroom/engines/video-rendering';
import { openVideo } from '@darkroom/media/encode';
import { median } from '../measures.ts';
import { count, positiveNumber } from '../../support/number-options.ts';

const PROMISED = 1.5;
const PROMPT =
  'A sailing boat on the sea at sunset, an island with palms, drifting clouds, birds, the camera pushes in';

const options = new Command('npm run bench -- video-encoding')
  .description('Measures videos beside the encoder alone.')
  .option('--rounds <number>', 'videos of each kind', count, 5)
  .option('--seconds <number>', 'length of a video', positiveNumber, 5)
  .option('--resolution <names...>', 'of the videos', ['480p', '720p', '1080p'])
  .option('--prompt <text>', 'what they show', PROMPT)
  .parse()
  .opts();

const print = (line: string): boolean => process.stdout.write(`${line}\n`);
const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-video-'));

/** The peak memory of this process's children, of those that still exist; Linux only. */
async function childMegabytes(): Promise<number> {
  const children = await readFile(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8').catch(() => '');
  const sizes = await Promise.all(
    children
      .split(' ')
      .filter(Boolean)
      .map(async (id) => {
        const status = await readFile(`/proc/${id}/status`, 'utf8').catch(() => '');
        return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
      }),
  );
  return Math.max(0, ...sizes);
}

async function seconds(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return (performance.now() - start) / 1000;
}

try {
  print(`Videos of ${options.seconds} s, ${options.rounds} of each: ${options.prompt}`);
  print('resolution  ready frames  whole video  ratio          of fastest  a frame   process   encoder');
  for (const resolution of options.resolution) {
    const input = { prompt: options.prompt, duration: options.seconds, resolution, aspect_ratio: '16:9' };
    const job = { input, seed: 1, media: new Map<string, never>(), progress: (): void => {} };
    const { video } = await planVideo(job);
    const frames: Buffer[] = [];
    await renderFrames(video, async ({ bytes }) => {
      frames.push(Buffer.from(bytes));
    });
    const started = process.cpuUsage();
    await renderFrames(video, async () => {});
    const used = process.cpuUsage(started);
    let encoderMegabytes = 0;
    const ready = (): Promise<number> =>
      seconds(async () => {
        const file = path.join(directory, 'ready.mp4');
        const writer = await openVideo({ path: file, ...video.size, fps: video.fps, quality: 'standard' });
        for (const frame of frames) await writer.write(frame);
        encoderMegabytes = Math.max(encoderMegabytes, await childMegabytes());
        await writer.finish();
      });
    const whole = (): Promise<number> => seconds(() => renderVideo({ ...job, scratch: directory }));
    await ready();
    const times: { ready: number; whole: number }[] = [];
    for (let round = 0; round < options.rounds; round++) {
      // The order changes with each round, so that neither side always follows the other.
      if (round % 2 === 0) times.push({ ready: await ready(), whole: await whole() });
      else {
        const first = await whole();
        times.push({ ready: await ready(), whole: first });
      }
    }
    const [readySeconds, wholeSeconds] = [
      median(times.map((time) => time.ready)),
      median(times.map((time) => time.whole)),
    ];
    const ratio = wholeSeconds / readySeconds;
    const fastest = Math.min(...times.map((time) => time.whole)) / Math.min(...times.map((time) => time.ready));
    const frameMs = (used.user + used.system) / 1000 / frames.length;
    const isMissed = resolution === '720p' && ratio > PROMISED;
    const cells = [
      resolution.padEnd(12),
      `${readySeconds.toFixed(2)} s`.padEnd(14),
      `${wholeSeconds.toFixed(2)} s`.padEnd(12),
      `${ratio.toFixed(2)}${isMissed ? ' MISSED' : ''}`.padEnd(15),
      fastest.toFixed(2).padEnd(12),
      `${frameMs.toFixed(1)} ms`.padEnd(10),
      `${Math.round(process.memoryUsage.rss() / 1024 ** 2 - (frames.length * (frames[0]?.length ?? 0)) / 1024 ** 2)} MB`.padEnd(
        10,
      ),
      `${Math.round(encoderMegabytes)} MB`,
    ];
    print(cells.join(''));
  }
} finally {
  await rm(directory, { recursive: true, force: true });
}
