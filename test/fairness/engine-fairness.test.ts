/**
 * An attack on a worker's slots and threads: more videos of one account than the worker has generation slots do not
 * delay another account's image, which waits neither in Temporal nor in the pool until a video is finished.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';

const VIDEOS = 10;

describe('an account with more videos than a worker has slots', () => {
  let darkroom: Darkroom;
  before(async () => {
    darkroom = await startDarkroom({ environment: { ENGINE_THREADS: '1' } });
  });
  after(() => darkroom.stop());

  it("does not delay another account's image", async () => {
    const large = await darkroom.createAccount({ runningCap: 100, queueCap: 100 });
    const small = await darkroom.createAccount();
    const video = { model: 'darkroom/motion-long', input: { prompt: 'the sea', duration: 30 } };
    const videos: string[] = [];
    for (let index = 0; index < VIDEOS; index++) {
      const { status, body } = await large.client.create(video);
      assert.equal(status, 200);
      videos.push(body.data.taskId);
    }

    const created = await small.client.create({ model: 'darkroom/scene', input: { prompt: 'a red fox' } });
    const task = await small.client.waitForTerminal(created.body.data.taskId);

    assert.equal(task.status, 'success');
    const [row] = await darkroom.testDatabase.database.query<{ done: number }>(
      {
        name: 'test_videos_done',
        text: 'SELECT count(*)::integer AS done FROM tasks WHERE account_id = $1 AND completed_at IS NOT NULL',
      },
      [large.id],
    );
    assert.equal(row?.done, 0, 'a video was finished before an image of half a second');
  });
});
