/** What counts as a transcript in the answer of a provider. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MAX_TRANSCRIPT_BYTES } from '../../src/transcripts/formats.ts';
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

  it('is none with more text than its file may have', () => {
    const half = 'a'.repeat(MAX_TRANSCRIPT_BYTES / 2);
    const said = (text: string) => ({ text: half, segments: [{ start: 0, end: 1, text }] });

    assert.equal(transcriptOf(said(half))?.segments?.length, 1);
    assert.equal(transcriptOf(said(`${half}a`)), undefined);
  });

  it('leaves out segments that cannot be read, and orders the others', () => {
    const right = { start: 1, end: 2, text: 'b' };
    const wrong = [
      { ...right, start: -1 },
      { ...right, end: NaN },
      { ...right, text: null },
      { start: 0, end: 1 },
      null,
    ];
    const earlier = { start: 0, end: 1, text: 'a' };
    assert.deepEqual(transcriptOf({ text: 'a', segments: [right, ...wrong, earlier] })?.segments, [earlier, right]);
  });

  it('has no times without any readable segment, unless nothing was said', () => {
    const tooMany = Array.from({ length: 100_001 }, () => ({ start: 0, end: 1, text: 'a' }));
    for (const segments of [[], [null], 'a', tooMany]) {
      assert.equal(transcriptOf({ text: 'a', segments })?.segments, undefined);
    }
    assert.deepEqual(transcriptOf({ text: ' ', segments: [] })?.segments, []);
  });

  it('has no control characters', () => {
    assert.equal(transcriptOf({ text: 'a\0b\u001b\r\nc\td' })?.text, 'a b \nc\td');
  });

  it('has no segment that ends before it starts', () => {
    const [segment] = transcriptOf({ text: 'a', segments: [{ start: 2, end: 1, text: 'a' }] })?.segments ?? [];
    assert.deepEqual(segment, { start: 2, end: 2, text: 'a' });
  });
});
