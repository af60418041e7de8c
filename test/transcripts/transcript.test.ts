/** What counts as a transcript in the answer of a provider. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { transcriptOf } from '../../src/transcripts/transcript.ts';

describe('a transcript in an answer', () => {
  it('has text, and what else is reported', () => {
    const segments = [{ id: 3, start: '0.5', end: 2, text: ' Hello. ', speaker: 'A', tokens: [1] }];
    assert.deepEqual(
      transcriptOf({ text: ' Hello. ', language: 'en', duration: '2.5', segments, task: 'transcribe' }),
      {
        text: 'Hello.',
        language: 'en',
        durationSeconds: 2.5,
        segments: [{ start: 0.5, end: 2, text: 'Hello.', speaker: 'A' }],
      },
    );
    assert.deepEqual(transcriptOf({ text: '', language: '', duration: -1, segments: null }), { text: '' });
  });

  it('is none without text', () => {
    for (const answer of [undefined, null, 'text', [], {}, { text: 1 }, { segments: [] }]) {
      assert.equal(transcriptOf(answer), undefined);
    }
  });

  it('has no times if one of its segments cannot be read', () => {
    const right = { start: 0, end: 1, text: 'a' };
    const wrong = [
      { ...right, start: -1 },
      { ...right, end: NaN },
      { ...right, text: null },
      { start: 0, end: 1 },
      null,
    ];
    for (const segment of wrong) {
      assert.equal(transcriptOf({ text: 'a', segments: [right, segment] })?.segments, undefined);
    }
    assert.equal(
      transcriptOf({ text: 'a', segments: Array.from({ length: 100_001 }, () => right) })?.segments,
      undefined,
    );
  });

  it('has no segment that ends before it starts', () => {
    const [segment] = transcriptOf({ text: 'a', segments: [{ start: 2, end: 1, text: 'a' }] })?.segments ?? [];
    assert.deepEqual(segment, { start: 2, end: 2, text: 'a' });
  });
});
