/**
 * Promises of the video engine in its pool: that it reports its progress, and that a cancelled video leaves nothing
 * running.
 */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { createEnginePool } from '../../../src/providers/embedded/engine-pool.ts';
import { silentLogger } from '../../../src/telemetry/log.ts';
import { waitFor } from '@darkroom/testing/wait-for';

const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-videos-'));
after(() => rm(directory, { recursive: true, force: true }));

/** The encoders that this process has started and that still exist; Linux only. */
async function encoders(): Promise<string[]> {
  const tasks = await readdir(`/proc/${process.pid}/task`);
  const lists = await Promise.all(
    tasks.map((task) => readFile(`/proc/${process.pid}/task/${task}/children`, 'utf8').catch(() => '')),
  );
  const commands = await Promise.all(
    lists
      .flatMap((list) => list.split(' ').filter(Boolean))
      .map((id) => readFile(`/proc/${id}/cmdline`, 'utf8').catch(() => '')),
  );
  return commands.filter((command) => command.includes('encode-child'));
}

describe('the video engine in its pool', () => {
  it(
    'reports its progress, and ends its encoder when it is cancelled',
    { skip: process.platform !== 'linux' },
    async () => {
      const pool = createEnginePool({ threads: 1, logger: silentLogger() });
      try {
        const cancelling = new AbortController();
        const reported: number[] = [];
        let seen = 0;
        const video = pool.render(
          {
            engine: 'film',
            input: { prompt: 'the sea', duration: 30, resolution: '480p', draft: true },
            fallbackSeed: 1,
            media: new Map(),
            scratch: await mkdtemp(path.join(directory, 'pool-')),
          },
          {
            tenant: 'someone',
            signal: cancelling.signal,
            onProgress(fraction) {
              reported.push(fraction);
              if (fraction > 0.02)
                void encoders()
                  .then((running) => (seen = running.length))
                  .then(() => cancelling.abort());
            },
          },
        );

        await assert.rejects(video, { name: 'AbortError' });
        assert.ok(reported.length > 0 && reported.every((fraction) => fraction >= 0 && fraction <= 1));

        assert.equal(seen, 1);

        await waitFor('the encoder has ended', async () => (await encoders()).length === 0);
      } finally {
        await pool.close();
      }
    },
  );
});
