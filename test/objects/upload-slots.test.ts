/** How many uploads of an account are under way at once. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createUploadSlots } from '../../src/objects/uploads.ts';

describe('concurrent uploads', () => {
  it('are limited to sixteen per account', async () => {
    const slots = createUploadSlots();
    let finish = (): void => {};
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const underWay = Array.from({ length: 16 }, () => slots.run('acc_one', () => finished));

    await assert.rejects(
      slots.run('acc_one', async () => 'never'),
      { name: 'RateLimitedError' },
    );
    assert.equal(await slots.run('acc_two', async () => 'fine'), 'fine');

    finish();
    await Promise.all(underWay);
    assert.equal(await slots.run('acc_one', async () => 'again'), 'again');
  });

  it('release their slot when they fail', async () => {
    const slots = createUploadSlots();
    for (let times = 0; times < 9; times++) {
      await assert.rejects(
        slots.run('acc_one', () => Promise.reject(new Error('broke off'))),
        /broke off/,
      );
    }
  });
});
