/** Which file is inspected next, whatever an inspection costs: work that ends when the test lets it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NotPromptError, UnsupportedMediaError } from '@darkroom/media/inspect';
import { createInspectionTurns } from '../../src/limits/media-turns.ts';
import { createGate } from '../support/held-answers.ts';

const CHILDREN = 3;

/** Inspections of files that take long: none is prompt, and none ends before the gate opens. */
function longFiles(turns: ReturnType<typeof createInspectionTurns>) {
  const gate = createGate();
  const begun: string[] = [];
  const read = async (tenant: string): Promise<void> =>
    turns.run(tenant, async (isPatient) => {
      if (!isPatient) throw new NotPromptError('it takes long');
      begun.push(tenant);
      await gate.opened;
    });
  return { begun, gate, read };
}

const turnOfEventLoop = async (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('the turns of inspections', () => {
  it('leave a child to files that take no time, however many accounts have files that take long', async () => {
    const turns = createInspectionTurns(undefined, CHILDREN);
    const { begun, gate, read } = longFiles(turns);
    const inspections = ['one', 'one', 'two', 'three', 'four'].map(read);
    await turnOfEventLoop();
    assert.deepEqual(begun, ['one', 'two']);

    for (let file = 0; file < 10; file++) {
      assert.equal(await turns.run('other', (isPatient) => Promise.resolve(isPatient)), false);
    }

    gate.open();
    await Promise.all(inspections);
    assert.deepEqual(begun.toSorted(), ['four', 'one', 'one', 'three', 'two']);
  });

  it('read the files of accounts whose last one exceeded its bounds one at a time, and patiently', async () => {
    const turns = createInspectionTurns(undefined, CHILDREN);
    for (const tenant of ['one', 'two']) {
      const hostile = turns.run(tenant, () => Promise.reject(new UnsupportedMediaError(undefined, 'takes too long')));
      await assert.rejects(hostile, UnsupportedMediaError);
    }
    const { begun, gate, read } = longFiles(turns);
    const inspections = ['one', 'two', 'other'].map(read);
    await turnOfEventLoop();
    assert.deepEqual(begun, ['one', 'other']);

    gate.open();
    await Promise.all(inspections);
    assert.deepEqual(begun.toSorted(), ['one', 'other', 'two']);
  });
});
