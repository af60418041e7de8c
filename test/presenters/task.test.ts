/**
 * The task as its owner sees it: the same object over HTTP and in a callback (spec §2.4, contract §3), and its input with
 * references as URLs and everything else as it was sent (contract §4).
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createUrlSigner } from '../../src/objects/urls/signed-url.ts';
import { newTaskId } from '../../src/domain/ids.ts';
import type { TaskDetail, TaskOutput } from '../../src/tasks/record/read.ts';
import { outputFileName, presentInput, presentTask } from '../../src/presenters/task.ts';

const signer = createUrlSigner({
  publicUrl: 'https://api.example.com',
  signingKey: 'a signing key of at least 32 characters',
  lifetimeSeconds: 1800,
});

/** Before anything here has expired. */
const NOW = 0;

function detail(changes: Partial<TaskDetail> = {}): TaskDetail {
  return {
    id: newTaskId(),
    accountId: 'acc_1',
    keyId: 'key0000001',
    model: 'acme/images',
    route: null,
    status: 'queued',
    storage: 'temp',
    metadata: null,
    heldMicroUsd: 42_000n,
    capturedMicroUsd: null,
    priceFactor: null,
    errorReason: null,
    errorField: null,
    errorCase: null,
    createdAt: 1_700_000_000,
    startedAt: null,
    progress: null,
    completedAt: null,
    definitionHash: 'hash',
    idleSeconds: 1,
    ageSeconds: 1,
    outputs: [],
    callback: null,
    ...changes,
  };
}

function output(position: number, changes: Partial<TaskOutput> = {}): TaskOutput {
  return {
    id: `out_${position}`,
    position,
    type: 'image',
    mimeType: 'image/webp',
    sizeBytes: 7,
    width: null,
    height: null,
    durationSeconds: null,
    sha256: 'ab',
    storageTier: 'temp',
    retainUntil: 1_700_600_000,
    goneAt: null,
    goneReason: null,
    ...changes,
  };
}

describe('a presented task', () => {
  // Proves C3-1.
  it('has zeros for what has not happened, and omits fields that do not apply', () => {
    const task = detail();

    assert.deepEqual(presentTask(task, signer, NOW), {
      taskId: task.id,
      model: 'acme/images',
      status: 'queued',
      created: 1_700_000_000,
      started: 0,
      completed: 0,
      storage: 'temp',
      keyId: 'key0000001',
      billing: { currency: 'USD', held: '0.042', captured: '0', released: '0' },
    });
  });

  it('never contains its account, or its model definition', () => {
    const text = JSON.stringify(presentTask(detail(), signer, NOW));

    assert.ok(!text.includes('acc_1') && !text.includes('hash'));
  });

  // Proves C3-4.
  it('adds up: the hold is the sum of captured and released', () => {
    const task = detail({ status: 'success', completedAt: 1_700_000_009, capturedMicroUsd: 12_345n });

    const { billing } = presentTask(task, signer, NOW);

    assert.deepEqual(billing, { currency: 'USD', held: '0.042', captured: '0.012345', released: '0.029655' });
  });

  // Proves S2.4-2, C3-3, C3-13.
  it('has outputs on success only, in their order, with deleted ones marked', () => {
    const outputs = [output(0), output(1, { goneAt: 1_700_000_100, goneReason: 'expired' }), output(2)];

    const success = presentTask(detail({ status: 'success', capturedMicroUsd: 0n, outputs }), signer, NOW);
    assert.deepEqual(
      success.output?.map((each) => each.id),
      ['out_0', 'out_2'],
    );
    assert.deepEqual(success.outputGone, [{ id: 'out_1', type: 'image', goneAt: 1_700_000_100, reason: 'expired' }]);

    const empty = presentTask(detail({ status: 'success', capturedMicroUsd: 0n }), signer, NOW);
    assert.deepEqual(empty.output, []);
    assert.equal(empty.outputGone, undefined);

    const archiving = presentTask(detail({ status: 'archiving', outputs }), signer, NOW);
    assert.equal(archiving.output, undefined);
  });

  // Proves C3-9.
  it('signs each URL for its own output, under the file name of the contract', () => {
    const task = detail({ status: 'success', capturedMicroUsd: 0n, outputs: [output(0), output(1)] });

    for (const [index, each] of (presentTask(task, signer, NOW).output ?? []).entries()) {
      const [, , token = '', name] = new URL(each.url).pathname.split('/');
      assert.deepEqual(signer.verify(token), { outputId: each.id, expireAt: each.expireAt });
      assert.equal(name, `${task.id}-${index + 1}.webp`);
      assert.equal(outputFileName(task.id, { position: index, mimeType: 'image/webp' }), name);
    }
  });

  it('names the field for which it failed, and only when it failed for that', () => {
    const errorOf = (changes: Partial<TaskDetail>): unknown =>
      presentTask(detail({ status: 'fail', capturedMicroUsd: 0n, ...changes }), signer, NOW).error;
    const fault = { errorField: 'image_urls.0', errorCase: 'unreachable' };
    const bare = errorOf({ errorReason: 'input_invalid' });

    assert.deepEqual(errorOf({ errorReason: 'input_unreachable', ...fault }), {
      code: 'INVALID_REQUEST',
      message: 'image_urls.0: the URL could not be fetched; check that it is public and responds',
      reason: 'input_unreachable',
      field: 'image_urls.0',
      retryable: true,
    });
    assert.deepEqual(errorOf({ errorReason: 'input_invalid', ...fault }), bare);
    assert.deepEqual(errorOf({ errorReason: 'input_invalid', errorCase: 'of a later release' }), bare);
    assert.match(JSON.stringify(bare), /the provider rejected/);
    assert.doesNotMatch(JSON.stringify(errorOf({ errorReason: 'timed_out', ...fault })), /image_urls/);
    assert.match(
      JSON.stringify(errorOf({ errorReason: 'input_invalid', errorCase: 'too_long' })),
      /"the file is longer/,
    );
  });

  // Proves C3-4.
  it('includes the state of its callback', () => {
    const callback = { state: 'pending', attempts: 2, nextAttemptAt: 1_700_000_300 };

    assert.deepEqual(presentTask(detail({ callback }), signer, NOW).callback, {
      state: 'pending',
      attempts: 2,
      nextAttempt: 1_700_000_300,
    });
  });
});

const FILE = 'file_01J00000000000000000000000';
const OUTPUT = 'out_01J00000000000000000000000';

describe('a presented input', () => {
  it('has a URL for every reference, however deep it is nested', () => {
    const input = { a: `darkroom:${FILE}`, b: [{ c: [`darkroom:${OUTPUT}`] }] };
    const shown = presentInput(input, signer) as { a: string; b: [{ c: [string] }] };

    for (const [url, id] of [
      [shown.a, FILE],
      [shown.b[0].c[0], OUTPUT],
    ] as const) {
      const [, , token = '', name] = new URL(url).pathname.split('/');
      assert.equal(signer.verify(token).outputId, id);
      assert.equal(name, id);
    }
  });

  it('is unchanged otherwise', () => {
    const text = `{"n":1.5,"no":null,"yes":true,"__proto__":{"x":["darkroom:file_1"]},"prompt":"darkroom:${FILE} "}`;
    const input = JSON.parse(text) as Record<string, unknown>;
    assert.equal(JSON.stringify(presentInput(input, signer)), text);
    assert.equal(JSON.stringify(input), text);
  });
});
