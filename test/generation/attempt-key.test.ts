/** Where attempts put their files: no two of them under the same key. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newTaskId } from '../../src/domain/ids.ts';
import { attemptKey } from '../../src/generation/stage-files.ts';
import { isOurKey } from '../../src/objects/outputs/sweep.ts';
import { isObjectKey } from '../../src/objects/stores/object-store.ts';

const taskId = newTaskId();

function keyOf(info: { readonly runId: string; readonly attempt?: number; readonly position?: number }): string {
  const { runId, attempt = 1, position = 0 } = info;
  return attemptKey({ runId, stepId: '1', number: attempt }, taskId, 'generated', position);
}

describe('the key of an object that an attempt stores', () => {
  it('is unique to each run of a task, however soon one follows the other', () => {
    // Run ids are UUIDs of version 7: these two were created in the same second.
    const first = keyOf({ runId: '0199ab12-3f4c-7d01-8a6b-0c1d2e3f4a5b' });
    const second = keyOf({ runId: '0199ab12-3f9e-7a44-9b0c-5d6e7f8091a2' });

    assert.notEqual(first, second);
  });

  it('is unique to each attempt and each file, and is recognizable as ours', () => {
    const runId = '0199ab12-3f4c-7d01-8a6b-0c1d2e3f4a5b';
    const keys = [keyOf({ runId }), keyOf({ runId, attempt: 2 }), keyOf({ runId, position: 1 })];

    assert.equal(new Set(keys).size, keys.length);
    for (const key of keys) assert.ok(isObjectKey(key) && isOurKey(key), key);
  });
});
