/**
 * Promises of the engine pool: bounded threads, the same bytes everywhere, and a pool that outlives aborted jobs and
 * dead threads. Everything runs in real threads, as in a worker.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import sharp from 'sharp';
import { packageModule } from '../../../src/config/package-root.ts';
import type { EnginePool } from '../../../src/providers/embedded/engine-pool.ts';
import { createEnginePool } from '../../../src/providers/embedded/engine-pool.ts';
import type { EngineJob, RenderedFile } from '@darkroom/engines/engine';
import { UnusableInputError } from '@darkroom/engines/unusable-input-error';
import { THREAD_ARGUMENTS } from '../../../src/limits/timed-threads.ts';
import { silentLogger } from '../../../src/telemetry/log.ts';

const logger = silentLogger();
const DYING_THREAD = packageModule('test/providers/embedded/dying-thread.ts');

function job(input: Record<string, unknown>, engine = 'swatch', fallbackSeed = 7): EngineJob {
  return { engine, input, fallbackSeed, media: new Map(), scratch: '/nowhere' };
}

function never(): { readonly tenant: string; readonly signal: AbortSignal } {
  return { tenant: 'someone', signal: new AbortController().signal };
}

function bytesOf(file: RenderedFile | undefined): Uint8Array {
  assert.ok(file !== undefined && 'bytes' in file);
  return file.bytes;
}

async function digest(pool: EnginePool, what: EngineJob): Promise<string> {
  const [file] = await pool.render(what, never());
  return createHash('sha256').update(bytesOf(file)).digest('hex');
}

describe('the engine pool', () => {
  let pool: EnginePool;
  before(() => {
    pool = createEnginePool({ threads: 1, logger });
  });
  after(() => pool.close());

  it('renders bytes in a thread', async () => {
    const files = await pool.render(job({ prompt: 'teal' }), never());

    assert.equal(files.length, 1);
    assert.deepEqual([...bytesOf(files[0]).subarray(1, 4)], [...Buffer.from('PNG')]);
  });

  it('runs at low priority compared with the machine and with the rest of its process', async () => {
    await pool.render(job({ prompt: 'teal' }), never());
    const own = os.getPriority();
    const threads = await readdir('/proc/self/task').catch(() => []);
    const priorities = threads.map((thread) => os.getPriority(Number(thread)));

    assert.equal(own, os.getPriority(process.pid));
    if (process.platform === 'linux') assert.ok(priorities.includes(Math.max(10, own)), String(priorities));
  });

  it('renders the same bytes in another pool, for both image engines', async () => {
    const other = createEnginePool({ threads: 1, logger });
    try {
      for (const engine of ['scene', 'poster']) {
        const what = job({ prompt: 'a fox in the rain, "Hello", oil painting' }, engine);
        assert.equal(await digest(pool, what), await digest(other, what));
      }
    } finally {
      await other.close();
    }
  });

  it('prefers the seed of the input to the one derived from the task', async () => {
    const named = await digest(pool, job({ prompt: 'x', seed: 3 }, 'swatch', 1));

    assert.equal(await digest(pool, job({ prompt: 'x', seed: 3 }, 'swatch', 2)), named);
    assert.notEqual(await digest(pool, job({ prompt: 'x' }, 'swatch', 2)), named);
  });

  it('renders lettering with the same bytes when several threads load the fonts at once', async () => {
    const wide = createEnginePool({ threads: 2, logger });
    try {
      const what = job({ prompt: 'sea, minimal, "Ωμέγα Жук"', aspect_ratio: '21:9' }, 'scene');
      const digests = await Promise.all(Array.from({ length: 4 }, () => digest(wide, what)));
      assert.deepEqual(new Set(digests), new Set([await digest(pool, what)]));
    } finally {
      await wide.close();
    }
  });

  it('rejects an unknown engine and continues', async () => {
    await assert.rejects(pool.render(job({ prompt: 'x' }, 'no-such-engine'), never()), /no embedded engine/);
    await digest(pool, job({ prompt: 'x' }));
  });

  it('rejects with AbortError when the signal has fired already, fires while waiting, or while rendering', async () => {
    await assert.rejects(pool.render(job({ prompt: 'x' }), { tenant: 'someone', signal: AbortSignal.abort() }), {
      name: 'AbortError',
    });

    const [running, waiting] = [new AbortController(), new AbortController()];
    const first = pool.render(job({ prompt: 'a city, oil painting', resolution: '2k' }, 'scene'), {
      ...never(),
      signal: running.signal,
    });
    const second = pool.render(job({ prompt: 'x' }), { ...never(), signal: waiting.signal });
    const third = pool.render(job({ prompt: 'x' }), never());
    waiting.abort();
    await assert.rejects(second, { name: 'AbortError' });
    running.abort();
    await assert.rejects(first, { name: 'AbortError' });

    // The job that waited behind the two is still rendered, by the thread's replacement.
    assert.equal((await third).length, 1);
  });
});

describe('an engine pool with threads of another kind', () => {
  it('never renders in the main thread, and uses no more threads than it was given', async () => {
    const pool = createEnginePool({ threads: 2, logger, threadModule: DYING_THREAD });
    try {
      const all = await Promise.all(Array.from({ length: 12 }, () => pool.render(job({}, 'which'), never())));
      const threads = new Set(all.map(([file]) => bytesOf(file)[0]));

      assert.ok(threads.size >= 1 && threads.size <= 2, `${threads.size} threads`);
      assert.ok(!threads.has(0), 'thread 0 is the main one');
    } finally {
      await pool.close();
    }
  });
});

describe('an engine pool whose threads report progress', () => {
  it('passes progress on, and the path of a file that was written to the scratch directory', async () => {
    const pool = createEnginePool({ threads: 1, logger, threadModule: DYING_THREAD });
    try {
      const reported: number[] = [];
      const heard = new Int32Array(new SharedArrayBuffer(4));
      const onProgress = (fraction: number): void => {
        Atomics.store(heard, 0, reported.push(fraction));
        Atomics.notify(heard, 0);
      };
      const work = { ...job({ heard }, 'report'), scratch: '/some/directory' };
      const files = await pool.render(work, { ...never(), onProgress });

      assert.deepEqual(files, [{ path: '/some/directory/file' }]);
      assert.deepEqual(reported, [0.25, 0.5]);
    } finally {
      await pool.close();
    }
  });

  it('rejects with the error when a file of the input cannot be used', async () => {
    const pool = createEnginePool({ threads: 1, logger, threadModule: DYING_THREAD });
    try {
      await assert.rejects(pool.render(job({}, 'reject'), never()), (error) => {
        assert.ok(error instanceof UnusableInputError);
        assert.match(error.message, /image_urls\.0: not an image/);
        assert.deepEqual(error.fault, { kind: 'undecodable', field: 'image_urls.0' });
        return true;
      });
    } finally {
      await pool.close();
    }
  });
});

describe('an engine pool whose thread dies', () => {
  it('rejects the job with a clear error, and renders the next and the waiting one', async () => {
    const pool = createEnginePool({ threads: 1, logger, threadModule: DYING_THREAD });
    try {
      for (const death of ['exit', 'memory', 'uncaught']) {
        const failing = pool.render(job({}, death), never()).catch((err: unknown) => err);
        const waiting = pool.render(job({}, 'live'), never());
        const err = await failing;

        assert.ok(err instanceof Error, death);
        assert.notEqual(err.name, 'AbortError');
        assert.equal((await waiting).length, 1);
        assert.equal((await pool.render(job({}, 'live'), never())).length, 1);
      }
    } finally {
      await pool.close();
    }
  });

  it('rejects every job, and does not hang, when threads die before they are ready', async () => {
    const pool = createEnginePool({ threads: 1, logger, threadModule: packageModule('test/no-such-file.ts') });
    try {
      await assert.rejects(pool.render(job({}), never()), { name: 'Error' });
      await assert.rejects(pool.render(job({}), never()), { name: 'Error' });
    } finally {
      await pool.close();
    }
  });

  it('reports an invalid file from its thread, which continues', async () => {
    const pool = createEnginePool({ threads: 1, logger });
    const scratch = await mkdtemp(path.join(os.tmpdir(), 'engine-pool-'));
    const image = await sharp({ create: { width: 40, height: 40, channels: 3, background: '#369' } })
      .png()
      .toBuffer();
    const bomb = Buffer.from(image);
    bomb.writeUInt32BE(60_000, 16);
    bomb.writeUInt32BE(60_000, 20);
    const poster = async (name: string, bytes: Buffer): Promise<readonly RenderedFile[]> => {
      const file = path.join(scratch, name);
      await writeFile(file, bytes);
      const media = new Map([['image_url', { mimeType: 'image/png', path: file }]]);
      const input = { prompt: '"TITLE" "line"', image_url: 'any' };
      return pool.render({ ...job(input, 'poster'), media }, never());
    };
    try {
      await assert.rejects(poster('bomb', bomb), (error) => {
        assert.ok(error instanceof UnusableInputError);
        assert.deepEqual(error.fault, { kind: 'too_many_pixels', field: 'image_url' });
        return true;
      });
      assert.equal((await poster('image', image)).length, 1);
    } finally {
      await pool.close();
      await rm(scratch, { recursive: true });
    }
  });

  it('loads modules by import only, in each thread', async () => {
    const pool = createEnginePool({ threads: 1, logger, threadModule: DYING_THREAD });
    try {
      const given = await pool.render(job({}, 'arguments'), never());

      assert.deepEqual(
        given.map((file) => ('path' in file ? file.path : '')),
        THREAD_ARGUMENTS,
      );
    } finally {
      await pool.close();
    }
  });

  it('rejects work after it was closed, and ends what was running', async () => {
    const pool = createEnginePool({ threads: 1, logger });
    const running = pool.render(job({ prompt: 'a city, oil painting', resolution: '2k' }, 'scene'), never());
    const rejected = assert.rejects(running, { name: 'AbortError' });
    await pool.close();
    await rejected;

    await assert.rejects(pool.render(job({ prompt: 'x' }), never()), { name: 'AbortError' });
  });
});
