/**
 * Containers of every format that is read, broken at random: each is read or rejected within its bounds, and the
 * calling process is not affected. `FUZZ_SECONDS` sets the duration, `FUZZ_SEED` the seed: a failure names both and
 * the number of the file, which the same seed generates again.
 */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { after, before, describe, it } from 'node:test';
import sharp from 'sharp';
import { writeAudio } from '../src/encode.ts';
import { AT_ONCE, UnsupportedMediaError, createMediaInspector } from '../src/inspect.ts';
import { createRandom } from '@darkroom/testing/random';
import { HOSTILE_CONTAINERS, matroskaBlocks, mp4, oggPages } from '@darkroom/testing/hostile-containers';
import { mutated } from '@darkroom/testing/mutations';
import { sourceOf } from './sources.ts';
import { tone, writeVideo } from './samples.ts';

const SECONDS = Number(process.env['FUZZ_SECONDS'] ?? 10);
const SEED = Number(process.env['FUZZ_SEED'] ?? 1);
/** Two attempts of 2 s, two starts, on a machine under load. */
const FILE_MS = 2_000;
const WITHIN_MS = 60_000;
const LONGEST_BLOCK_MS = 2_000;
const LARGEST_GROWTH_MB = 400;
/** At once, each for an account of its own. */
const STREAMS = 2;
/** After this many broken ones an ordinary image of another account is read. */
const ORDINARY_EVERY = 25;

type Samples = readonly (readonly [name: string, bytes: Buffer])[];

/** Small files of every format, and hostile ones without mutations. */
async function samplesIn(directory: string): Promise<{ readonly ordinary: Samples; readonly hostile: Samples }> {
  const samples = new Map<string, Buffer>();
  const image = sharp({ create: { width: 64, height: 48, channels: 3, background: '#336699' } });
  for (const format of ['png', 'jpeg', 'webp', 'gif', 'avif'] as const) {
    samples.set(format, await image.clone().toFormat(format).toBuffer());
  }
  const left = tone(440, 48_000, 1);
  for (const format of ['mp3', 'wav', 'flac', 'opus', 'aac'] as const) {
    const file = path.join(directory, `audio.${format}`);
    const rates = { inputRate: 48_000, sampleRate: 48_000 };
    await writeAudio({ path: file, format, ...rates, channels: 1, samples: [left] });
    samples.set(format, await readFile(file));
  }
  const video = path.join(directory, 'video.mp4');
  await writeVideo({ path: video, width: 64, height: 64, fps: 10, frames: 12 });
  samples.set('mp4', await readFile(video));
  samples.set(
    'tables',
    mp4([
      { kind: 'video', tables: {} },
      { kind: 'pcm', tables: {} },
    ]),
  );
  samples.set('matroska', matroskaBlocks(40));
  samples.set('ogg', oggPages(40));
  const hostile = Object.entries(HOSTILE_CONTAINERS)
    .map(([name, make]) => [name, make()] as const)
    .filter(([, bytes]) => bytes.length < 4_096);
  return { ordinary: [...samples], hostile };
}

describe('inspecting broken containers', () => {
  let directory: string;
  const inspector = createMediaInspector({ turns: AT_ONCE, fileMs: FILE_MS });
  before(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'inspect-fuzz-'));
  });
  after(async () => {
    await inspector.close();
    await rm(directory, { recursive: true });
  });

  it(`reads or rejects each within its bounds, for ${SECONDS} s from seed ${SEED}`, async (t) => {
    const { ordinary, hostile } = await samplesIn(directory);
    const image = ordinary[0]?.[1] ?? assert.fail();
    const delay = monitorEventLoopDelay({ resolution: 10 });
    const rssBefore = process.memoryUsage.rss();
    const endsAt = performance.now() + SECONDS * 1_000;
    delay.enable();
    const tally = { read: 0, rejected: 0, killed: 0 };

    let files = 0;
    const fuzz = async (stream: number): Promise<void> => {
      const random = createRandom(SEED, `containers ${stream}`);
      for (let number = 0; performance.now() < endsAt; number++) {
        // The hostile ones without mutations cost seconds each.
        const [name, sample] = random.pick(random.isWithChance(0.03) ? hostile : ordinary);
        const bytes = mutated(sample, random);
        const where = `seed ${SEED}, stream ${stream}, file ${number} (${name}, ${bytes.length} bytes)`;
        const startedAt = performance.now();
        try {
          const metadata = await inspector.inspect(`acc_${stream}`, sourceOf(bytes));
          assert.match(metadata.mimeType, /^(image|video|audio)\/[\w.+-]+$/, where);
          tally.read += 1;
        } catch (error) {
          assert.ok(error instanceof UnsupportedMediaError, `${where}: ${String(error)}`);
          tally[error.problem === undefined ? 'rejected' : 'killed'] += 1;
        }
        assert.ok(performance.now() - startedAt < WITHIN_MS, where);
        if (number % ORDINARY_EVERY === 0) {
          assert.equal((await inspector.inspectBytes('acc_other', image)).width, 64, where);
        }
        files += 1;
      }
    };
    await Promise.all(Array.from({ length: STREAMS }, (_, stream) => fuzz(stream)));
    delay.disable();

    t.diagnostic(`${files} files: ${JSON.stringify(tally)}`);
    assert.ok(files >= STREAMS);
    assert.ok(delay.max / 1e6 < LONGEST_BLOCK_MS, `this thread stood still for ${delay.max / 1e6} ms`);
    assert.ok((process.memoryUsage.rss() - rssBefore) / 2 ** 20 < LARGEST_GROWTH_MB);
  });
});
