/** An account's maximum share of a worker's archiving slots and video decoders. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  ARCHIVING_SLOTS,
  VIDEO_ARCHIVING_SLOTS,
  createArchivingSlots,
  createFrameDecoders,
  STOP_SLOTS,
  STOP_SLOTS_OF_ACCOUNT,
  createStopSlots,
} from '../../src/generation/slots.ts';
import { GenerationFailure } from '../../src/generation/failure.ts';

const never = () => new Promise<void>(() => undefined);

describe('slots for archiving', () => {
  it('are limited to half of them for one account, and its next task returns within two seconds', async () => {
    const slots = createArchivingSlots();
    for (let count = 0; count < ARCHIVING_SLOTS / 2; count++) void slots.run('acc_one', 1, never);

    await assert.rejects(
      slots.run('acc_one', 1, never),
      (error: unknown) =>
        error instanceof GenerationFailure && !error.isPermanent && Number(error.retryAfterMs) <= 2_000,
    );
    assert.equal(await slots.run('acc_two', 1, () => Promise.resolve('archived')), 'archived');
  });
});

describe('slots for stop requests', () => {
  const busy = { message: 'passing: provider_unavailable', isPermanent: false };

  it('are limited to a share per account and half per upstream, and others have some', async () => {
    const slots = createStopSlots();
    const [one, two] = ['acc_one', 'acc_two'];
    for (let count = 0; count < STOP_SLOTS_OF_ACCOUNT; count++) {
      void slots.run({ accountId: one, upstreamName: 'silent' }, 1, never);
    }
    await assert.rejects(slots.run({ accountId: one, upstreamName: 'other' }, 1, never), busy);
    const answer = () => Promise.resolve('stopped');
    assert.equal(await slots.run({ accountId: two, upstreamName: 'silent' }, 1, answer), 'stopped');

    for (let count = STOP_SLOTS_OF_ACCOUNT; count < STOP_SLOTS / 2; count++) {
      void slots.run({ accountId: two, upstreamName: 'silent' }, 1, never);
    }
    await assert.rejects(slots.run({ accountId: 'acc_three', upstreamName: 'silent' }, 1, never), busy);
    assert.equal(await slots.run({ accountId: 'acc_three', upstreamName: 'other' }, 1, answer), 'stopped');
    assert.equal(await slots.run({ accountId: two, upstreamName: 'other' }, 1, answer), 'stopped');
  });
});

describe('decoders of videos', () => {
  it('leave one to another account, however many videos wait, and none waits beyond its share', async () => {
    const decoders = createFrameDecoders(undefined, 3);
    const stop = new AbortController();
    const waiting = Array.from({ length: VIDEO_ARCHIVING_SLOTS / 2 + 2 }, () =>
      decoders.run('acc_one', never, { signal: stop.signal }).catch((error: unknown) => error),
    );

    assert.equal(decoders.heldBy('acc_one'), 2);
    assert.equal(await decoders.run('acc_two', () => Promise.resolve('decoded')), 'decoded');
    await assert.rejects(decoders.run('acc_one', never), { message: 'passing: provider_unavailable' });

    stop.abort(new Error('enough'));
    const ended = await Promise.all(waiting.slice(2));
    assert.ok(ended.every((error) => error instanceof Error && error.message === 'enough'));
  });
});
