/**
 * An attack on the engine threads: an account with long videos on every thread does not delay another account's
 * image, and pausing in the middle does not change a video.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import type { EnginePool } from '../../../src/providers/embedded/engine-pool.ts';
import { createEnginePool } from '../../../src/providers/embedded/engine-pool.ts';
import type { EngineJob, RenderedFile } from '@darkroom/engines/engine';
import { ShareExhaustedError } from '../../../src/limits/tenant-shares.ts';
import { silentLogger } from '../../../src/telemetry/log.ts';

const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-videos-'));
after(() => rm(directory, { recursive: true, force: true }));

const logger = silentLogger();
const IMAGE: EngineJob = {
  engine: 'swatch',
  input: { prompt: 'teal' },
  fallbackSeed: 1,
  media: new Map(),
  scratch: '',
};

async function videoJob(duration: number): Promise<EngineJob> {
  const scratch = await mkdtemp(path.join(directory, 'fair-'));
  const input = { prompt: 'the sea at night, birds', duration, resolution: '480p', draft: true };
  return { engine: 'film', input, fallbackSeed: 1, media: new Map(), scratch };
}

async function withPool(threads: number, use: (pool: EnginePool) => Promise<void>): Promise<void> {
  const pool = createEnginePool({ threads, logger });
  try {
    await use(pool);
  } finally {
    await pool.close();
  }
}

async function digestOf([file]: readonly RenderedFile[]): Promise<string> {
  assert.ok(file !== undefined && 'path' in file);
  return createHash('sha256')
    .update(await readFile(file.path))
    .digest('hex');
}

/** A video that is known to be rendering once `begun` resolves. */
function startVideo(pool: EnginePool, job: EngineJob, tenant: string, signal: AbortSignal) {
  const reported: number[] = [];
  let begin = (): void => {};
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const onProgress = (fraction: number): void => {
    reported.push(fraction);
    begin();
  };
  const result = pool.render(job, { tenant, signal, onProgress });
  // A failure after the test has ended is not unhandled.
  result.catch(() => {});
  return { begun, reported, result };
}

describe('an account whose videos occupy every engine thread', () => {
  for (const threads of [1, 2, 4]) {
    it(`lets another account's images go first, with ${threads} thread${threads === 1 ? '' : 's'}`, async () => {
      await withPool(threads, async (pool) => {
        const stop = new AbortController();
        let ended = 0;
        const jobs = await Promise.all(Array.from({ length: threads + 3 }, () => videoJob(120)));
        const videos = jobs.map((job) => startVideo(pool, job, 'large', stop.signal));
        const over = videos.map(({ result }) => result.catch(() => {}).finally(() => (ended += 1)));
        // One account that is alone has all threads.
        await Promise.all(videos.slice(0, threads).map(({ begun }) => begun));

        for (let image = 0; image < 3; image++) {
          assert.equal((await pool.render(IMAGE, { tenant: 'small', signal: stop.signal })).length, 1);
        }

        assert.equal(ended, 0, 'a video was over before an image of half a second');
        for (const { reported } of videos) assert.ok((reported.at(-1) ?? 0) < 0.9, `a video was at ${reported.at(-1)}`);
        assert.ok(
          videos.slice(threads).every(({ reported }) => reported.length === 0),
          'a paused video goes before a new one',
        );
        stop.abort();
        await Promise.all(over);
      });
    });
  }

  it('renders the same bytes whether or not it is paused, and alternates with videos of others', async () => {
    await withPool(1, async (pool) => {
      const { signal } = new AbortController();
      // Many times the minimum length of a turn (SLICE_MS), on a fast machine too.
      const seconds = 20;
      const alone = await digestOf(await pool.render(await videoJob(seconds), { tenant: 'large', signal }));
      const jobs = [await videoJob(seconds), await videoJob(seconds)] as const;
      // Synchronously, so that the second waits before the first has begun, however slow this thread is.
      const videos = [startVideo(pool, jobs[0], 'large', signal), startVideo(pool, jobs[1], 'other', signal)] as const;
      const firstProgress = Promise.race([
        videos[1].begun.then(() => 'the second'),
        videos[0].result.then(() => 'the first'),
      ]);
      await videos[0].begun;
      await pool.render(IMAGE, { tenant: 'small', signal });

      assert.equal(await firstProgress, 'the second', 'it did not wait for the whole of the first');
      for (const { result } of videos) assert.equal(await digestOf(await result), alone);
    });
  });

  it('stops a paused video immediately, and gives its slot to the next', async () => {
    await withPool(1, async (pool) => {
      const [pausing, blocking] = [new AbortController(), new AbortController()];
      const first = startVideo(pool, await videoJob(120), 'large', pausing.signal);
      await first.begun;
      const second = startVideo(pool, await videoJob(120), 'other', blocking.signal);
      await second.begun;
      pausing.abort();
      await assert.rejects(first.result, { name: 'AbortError' });

      assert.equal((await pool.render(IMAGE, { tenant: 'small', signal: AbortSignal.timeout(60_000) })).length, 1);
      blocking.abort();
      await assert.rejects(second.result, { name: 'AbortError' });
      assert.equal((await pool.render(IMAGE, { tenant: 'large', signal: AbortSignal.timeout(60_000) })).length, 1);
    });
  });

  it('has few concurrent videos, and leaves some to others', async () => {
    for (const threads of [1, 2, 4]) {
      await withPool(threads, async (pool) => {
        const gone = new AbortController();
        const enter = (tenant: string) => pool.enter('film', { tenant, signal: gone.signal });
        assert.equal(await pool.enter('scene', { tenant: 'large', signal: gone.signal }), undefined);
        const held = await Promise.all(Array.from({ length: threads }, () => enter('large')));
        // One more waits, and later ones are rejected.
        const waits = assert.rejects(enter('large'), { name: 'AbortError' });
        await assert.rejects(enter('large'), ShareExhaustedError);
        held.push(await enter('second'), await enter('third'));
        const alsoWaits = assert.rejects(enter('fourth'), { name: 'AbortError' });
        await assert.rejects(enter('fifth'), ShareExhaustedError);
        gone.abort();
        await Promise.all([waits, alsoWaits]);
        for (const place of held) place?.release();
      });
    }
  });
});
