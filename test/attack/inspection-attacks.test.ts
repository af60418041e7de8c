/**
 * Files whose tables are designed to be hard to read: they cost a child a bounded time and memory, and neither the
 * calling process nor another account's file is affected.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import sharp from 'sharp';
import { createInspectionTurns } from '../../src/limits/media-turns.ts';
import { storedSource } from '../../src/objects/stores/object-store.ts';
import { createDiskStore } from '../../src/objects/stores/disk-store.ts';
import type { ObjectStore } from '../../src/objects/stores/object-store.ts';
import { UnsupportedMediaError, createMediaInspector } from '@darkroom/media/inspect';
import type { MediaMetadata, MediaInspector } from '@darkroom/media/inspect';
import { waitFor } from '@darkroom/testing/wait-for';
import { ENDLESS, HOSTILE_CONTAINERS, mp4 } from '@darkroom/testing/hostile-containers';
import { CAN_SEE_PROCESSES, mediaChildren, waitForChildren } from '@darkroom/testing/media-processes';
import { longestPause } from './event-loop.ts';

/** The child's time for one file; the program allows 15 s. */
const FILE_MS = 4_000;
/** The attack blocked this thread for minutes; the machine itself may delay it for a moment. */
const LONGEST_BLOCK_MS = 1_500;
const LARGEST_GROWTH_MB = 300;

describe('inspecting a hostile file', () => {
  let directory: string;
  let store: ObjectStore;
  let inspector: MediaInspector;
  let image: Buffer;
  before(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'inspect-attack-'));
    store = createDiskStore(directory);
    inspector = createMediaInspector({ turns: createInspectionTurns(undefined, 3), fileMs: FILE_MS });
    image = await sharp({ create: { width: 40, height: 30, channels: 3, background: '#369' } })
      .png()
      .toBuffer();
    await store.put('image', image, { mimeType: 'image/png' });
  });
  after(async () => {
    await inspector.close();
    await rm(directory, { recursive: true });
  });

  const inspectImage = () => inspector.inspect('acc_other', storedSource(store, 'image', image.length));

  for (const [name, make] of Object.entries(HOSTILE_CONTAINERS)) {
    it(`like ${name} ends within its limits, and a file of another account is read meanwhile`, async () => {
      const bytes = make();
      await store.put('hostile', bytes, { mimeType: 'application/octet-stream' });
      const rssBefore = process.memoryUsage.rss();

      const {
        pauseMs,
        value: [outcome, other],
      } = await longestPause(() =>
        Promise.all([
          inspector
            .inspect('acc_hostile', storedSource(store, 'hostile', bytes.length))
            .catch((error: unknown): MediaMetadata | UnsupportedMediaError => {
              if (error instanceof UnsupportedMediaError) return error;
              throw error;
            }),
          inspectImage(),
        ]),
      );

      assert.deepEqual([other.width, other.height], [40, 30]);
      assert.ok(outcome instanceof UnsupportedMediaError || outcome.mimeType.length > 0);
      assert.ok(pauseMs < LONGEST_BLOCK_MS, `this thread worked for ${pauseMs} ms without a break`);
      assert.ok((process.memoryUsage.rss() - rssBefore) / 2 ** 20 < LARGEST_GROWTH_MB);
    });
  }

  it('is ended and counted by the limit that it exceeded', async (context) => {
    const reasons: string[] = [];
    const counted = createMediaInspector({
      turns: createInspectionTurns(undefined, 1),
      fileMs: 500,
      fileCpuSeconds: 60,
      onKilled: (reason) => reasons.push(reason),
    });
    context.after(() => counted.close());
    const bytes = HOSTILE_CONTAINERS[ENDLESS]?.() ?? assert.fail();
    await store.put('hostile', bytes, { mimeType: 'application/octet-stream' });

    await assert.rejects(counted.inspect('acc_hostile', storedSource(store, 'hostile', bytes.length)), {
      name: 'UnsupportedMediaError',
      message: 'takes longer than 0.5 s to read',
    });
    await assert.rejects(counted.inspectBytes('acc_hostile', Buffer.from('no media')), UnsupportedMediaError);
    assert.equal((await counted.inspectBytes('acc_other', image)).mimeType, 'image/png');
    await counted.close();

    assert.ok(reasons.length > 0);
    assert.ok(
      reasons.every((reason) => reason === 'time' || reason === 'memory'),
      reasons.join(),
    );
  });

  it('of several accounts ends up with one child, and all others are free for the remaining accounts', async (context) => {
    const reasons: string[] = [];
    const shared = createMediaInspector({
      turns: createInspectionTurns(undefined, 3),
      fileCpuSeconds: 0.5,
      onKilled: (reason) => reasons.push(reason),
    });
    context.after(() => shared.close());
    const bytes = HOSTILE_CONTAINERS[ENDLESS]?.() ?? assert.fail();
    await store.put('hostile', bytes, { mimeType: 'application/octet-stream' });
    const messages: string[] = [];
    const attack = ['one', 'two', 'three'].flatMap((account) =>
      Array.from({ length: 6 }, async () => {
        const rejected = shared.inspect(`acc_${account}`, storedSource(store, 'hostile', bytes.length));
        messages.push(
          await rejected.then(
            () => 'read',
            (error: Error) => error.message,
          ),
        );
      }),
    );
    await waitFor('a file of each of the three was rejected', () => messages.length >= 3);

    for (let count = 0; count < 3; count += 1)
      await shared.inspect('acc_other', storedSource(store, 'image', image.length));
    assert.ok(messages.length <= 9, `others waited for ${messages.length} hostile files`);

    await Promise.all(attack);
    // Children have a lower priority: on a busy machine 15 s may pass before half a second of processor time is used.
    const ENDS = ['takes more than 0.5 s of processor time to read', 'takes longer than 15 s to read'];
    assert.deepEqual(
      messages.filter((message) => !ENDS.includes(message)),
      [],
    );
    assert.ok(
      reasons.every((reason) => reason === 'cpu' || reason === 'time'),
      reasons.join(),
    );
  });

  it('ends with the inspector, and no other child is started for it', { skip: !CAN_SEE_PROCESSES }, async (context) => {
    const reasons: string[] = [];
    const closing = createMediaInspector({
      turns: createInspectionTurns(undefined, 1),
      onKilled: (reason) => reasons.push(reason),
    });
    context.after(() => closing.close());
    const before = mediaChildren().length;
    await closing.inspectBytes('acc_other', image);
    const slow: ObjectStore = { ...store, read: () => new Promise(() => {}) };
    const bytes = HOSTILE_CONTAINERS[ENDLESS]?.() ?? assert.fail();
    await store.put('hostile', bytes, { mimeType: 'application/octet-stream' });
    const underWay = assert.rejects(
      closing.inspect('acc_hostile', storedSource(store, 'hostile', bytes.length)),
      /closed/,
    );
    const waiting = assert.rejects(closing.inspect('acc_other', storedSource(slow, 'image', image.length)), /closed/);
    await waitFor('the file is read', () => mediaChildren().length > before);

    await closing.close();
    await Promise.all([underWay, waiting]);

    await waitForChildren(before);
    assert.deepEqual(reasons, []);
  });

  it('leaves the inspection of ordinary files unchanged', async () => {
    const facts = await inspectStoredVideo();

    assert.equal(facts.mimeType, 'video/mp4');
    assert.deepEqual([facts.width, facts.height], [320, 240]);

    async function inspectStoredVideo(): Promise<MediaMetadata> {
      const bytes = mp4([{ kind: 'video', tables: {} }]);
      await store.put('video', bytes, { mimeType: 'video/mp4' });
      return inspector.inspect('acc_other', storedSource(store, 'video', bytes.length));
    }
  });

  it('many times at once occupies a share of the children, and another account is served', async () => {
    const bytes = HOSTILE_CONTAINERS['an MP4 whose stts claims 4,294,967,295 entries']?.() ?? assert.fail();
    await store.put('hostile', bytes, { mimeType: 'application/octet-stream' });
    const inspections = Array.from({ length: 6 }, () =>
      inspector.inspect('acc_hostile', storedSource(store, 'hostile', bytes.length)).catch(() => undefined),
    );

    for (let count = 0; count < 5; count++) assert.equal((await inspectImage()).mimeType, 'image/png');
    await Promise.all(inspections);
  });
});
