import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { base62, newId, newTaskId, randomBase62, taskIdForKey } from '../../src/domain/ids.ts';
import { callbackWorkflowId, isTaskId } from '../../src/domain/workflow-ids.ts';

const TASK_ID = /^tk-svc-[0-9A-HJKMNP-TV-Z]{26}$/;
const visibleKey = fc.string({ unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)) });

describe('the task id of an Idempotency-Key', () => {
  // Proves S2.2-2, C2-15.
  it('is 26 characters of Crockford base32 behind the prefix, for every key', () => {
    fc.assert(
      fc.property(visibleKey, (key) => {
        assert.match(taskIdForKey('inst_1', 'acc_1', key), TASK_ID);
      }),
    );
  });

  it('never changes: a stored key must find its task under every later release', () => {
    assert.equal(taskIdForKey('inst_1', 'acc_1', 'order-7'), taskIdForKey('inst_1', 'acc_1', 'order-7'));
    assert.equal(taskIdForKey('inst_1', 'acc_1', 'order-7'), 'tk-svc-W2SY3CVPGXY3VJPGS6FMVRY025');
  });

  it('differs between accounts and between installations', () => {
    const id = taskIdForKey('inst_1', 'acc_1', 'order-7');

    assert.notEqual(taskIdForKey('inst_1', 'acc_2', 'order-7'), id);
    assert.notEqual(taskIdForKey('inst_2', 'acc_1', 'order-7'), id);
  });

  it('is unambiguous: account and key are not concatenated', () => {
    assert.notEqual(taskIdForKey('inst', 'acc_1', '23'), taskIdForKey('inst', 'acc_12', '3'));
    assert.notEqual(taskIdForKey('inst', 'a","b', 'c'), taskIdForKey('inst', 'a', 'b","c'));
  });

  it('differs for ten thousand keys that differ in one digit', () => {
    const ids = new Set(Array.from({ length: 10_000 }, (_, index) => taskIdForKey('inst', 'acc', `key-${index}`)));

    assert.equal(ids.size, 10_000);
  });
});

describe('the id of a task without a key', () => {
  // Proves S2.2-2.
  it('has the same form and is new each time', () => {
    const ids = Array.from({ length: 1_000 }, () => newTaskId());

    for (const id of ids) assert.match(id, TASK_ID);
    assert.equal(new Set(ids).size, ids.length);
  });
});

describe('a text that may be a task id', () => {
  it('is one only in the exact form of ours', () => {
    assert.equal(isTaskId(newTaskId()), true);
    const body = '01JDABCDEFGHJKMNPQRSTVWXYZ';
    for (const text of ['', body, `tk-svc-${body.slice(1)}`, `tk-svc-${body}0`, `TK-SVC-${body}`, `tk-svc-${body}\n`]) {
      assert.equal(isTaskId(text), false, JSON.stringify(text));
    }
    for (const letter of ['I', 'L', 'O', 'U', 'a', '-', '%']) {
      assert.equal(isTaskId(`tk-svc-${body.slice(1)}${letter}`), false, letter);
    }
  });

  it('names the workflow of its callback', () => {
    const id = newTaskId();

    assert.equal(callbackWorkflowId(id), `callback-${id}`);
  });
});

describe('random identifiers', () => {
  it('have the requested length and only letters and digits', () => {
    for (const length of [1, 10, 43]) assert.match(randomBase62(length), new RegExp(`^[0-9A-Za-z]{${length}}$`));
  });

  it('use every letter and digit about equally often', () => {
    const counts = new Map<string, number>();
    for (const character of randomBase62(62_000)) counts.set(character, (counts.get(character) ?? 0) + 1);

    assert.equal(counts.size, 62);
    // 1000 expected of each, with a standard deviation of 31: nine of them are beyond chance.
    for (const [character, count] of counts) assert.ok(count > 720 && count < 1280, `${character}: ${count}`);
  });

  it('name their type by their prefix', () => {
    assert.match(newId('acc'), /^acc_[0-9A-HJKMNP-TV-Z]{26}$/);
    assert.notEqual(newId('acc'), newId('acc'));
  });

  it('are padded to their length in base 62, and two numbers never share a text', () => {
    assert.equal(base62(0, 6), '000000');
    assert.equal(base62(61, 6), '00000z');
    assert.equal(base62(62, 6), '000010');
    assert.equal(base62(2 ** 32 - 1, 6).length, 6);
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 32 - 1 }), fc.integer({ min: 0, max: 2 ** 32 - 1 }), (a, b) => {
        assert.equal(base62(a, 6) === base62(b, 6), a === b);
      }),
    );
  });
});
