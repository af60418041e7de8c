/** The files of a transcript: what was said cannot end a cue, begin another, or become markup. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { TRANSCRIPT_FORMATS, formatsOf, isTranscript, renderTranscript } from '../../src/transcripts/formats.ts';
import type { Transcript, TranscriptSegment } from '../../src/transcripts/transcript.ts';

const spoken: Transcript = {
  text: 'Mind the gap. Doors close.',
  language: 'en',
  durationSeconds: 3725.5,
  segments: [
    { start: 0, end: 1.5, text: 'Mind the gap.' },
    { start: 3724.0004, end: 3725.5, text: 'Doors close.', speaker: 'Announcer' },
  ],
};

const render = (segments: readonly TranscriptSegment[], format: 'srt' | 'vtt'): string =>
  renderTranscript({ text: '', segments }, format) ?? assert.fail('not rendered');

describe('the files of a transcript', () => {
  it('are written as each format has it', () => {
    assert.equal(renderTranscript(spoken, 'text'), 'Mind the gap. Doors close.\n');
    assert.equal(
      renderTranscript(spoken, 'srt'),
      '1\n00:00:00,000 --> 00:00:01,500\nMind the gap.\n\n2\n01:02:04,000 --> 01:02:05,500\nAnnouncer: Doors close.\n',
    );
    assert.equal(
      renderTranscript(spoken, 'vtt'),
      'WEBVTT\n\n00:00:00.000 --> 00:00:01.500\nMind the gap.\n\n01:02:04.000 --> 01:02:05.500\n<v Announcer>Doors close.\n',
    );
    assert.deepEqual(JSON.parse(renderTranscript(spoken, 'json') ?? ''), {
      text: spoken.text,
      language: 'en',
      duration: 3725.5,
      segments: spoken.segments,
    });
  });

  it('exist also where nothing was said', () => {
    const silent = { text: '', segments: [] };
    assert.equal(renderTranscript(silent, 'text'), '\n');
    assert.equal(renderTranscript(silent, 'srt'), '\n');
    assert.equal(renderTranscript(silent, 'vtt'), 'WEBVTT\n');
    for (const format of TRANSCRIPT_FORMATS) {
      const text = renderTranscript(silent, format) ?? assert.fail(format);
      assert.ok(isTranscript(Buffer.from(text), format), format);
    }
  });

  it('need times for subtitles', () => {
    const untimed = { text: 'Mind the gap.' };
    assert.equal(renderTranscript(untimed, 'srt'), undefined);
    assert.equal(renderTranscript(untimed, 'vtt'), undefined);
    assert.equal(renderTranscript(untimed, 'text'), 'Mind the gap.\n');
  });

  it('have as many cues as segments with text, whatever was said', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom(
        'a\n\n2\n00:00:00,000 --> 00:00:01,000\nb',
        '00:00.000 --> 00:01.000',
        '<script>&amp;',
        '\r\r\n\n\u2028\u0085',
        'WEBVTT',
        'NOTE x',
        '-->->-->',
      ),
    );
    const segment = fc.record({
      start: fc.double({ min: 0, max: 1e6, noNaN: true }),
      end: fc.constant(1e6),
      text,
      speaker: text,
    });
    fc.assert(
      fc.property(fc.array(segment, { maxLength: 5 }), (segments) => {
        const said = segments.filter((each) => /[^\p{Cc}\s\u2028\u2029\u0085]/u.test(each.text));
        const blank = segments.filter((each) => !said.includes(each));
        // What is neither blank nor clearly text, such as a lone mark, may have a cue.
        fc.pre(blank.every((each) => /^[\p{Cc}\s\u2028\u2029\u0085]*$/u.test(each.text)));
        for (const format of ['srt', 'vtt'] as const) {
          const file = render(segments, format);
          const blocks = file.split('\n\n').filter((block) => !['', 'WEBVTT'].includes(block.trim()));
          assert.equal(blocks.length, said.length, JSON.stringify(file));
          assert.equal(file.split(' --> ').length - 1, said.length, JSON.stringify(file));
          assert.ok(isTranscript(Buffer.from(file), format));
        }
        assert.doesNotMatch(render(segments, 'vtt').replaceAll(/<v |^.* --> .*$/gm, ''), /<|-->/);
      }),
      { numRuns: 500 },
    );
  });
});

describe('the formats that an input asks for', () => {
  it('are those of its list, each once and in its order', () => {
    assert.deepEqual(formatsOf({ formats: ['vtt', 'text', 'vtt'] }), ['vtt', 'text']);
  });

  it('are JSON alone where it names none', () => {
    for (const input of [{}, { formats: [] }, { formats: 'text' }, { formats: ['docx'] }, { formats: null }]) {
      assert.deepEqual(formatsOf(input), ['json']);
    }
  });
});

describe('the file of a transcript from another service', () => {
  const cases: readonly (readonly [string, 'text' | 'json' | 'srt' | 'vtt', Buffer, boolean])[] = [
    ['text', 'text', Buffer.from('Grüße'), true],
    ['text with a byte order mark', 'vtt', Buffer.from('\uFEFFWEBVTT\n'), true],
    ['JSON', 'json', Buffer.from(' {"text":"a"}'), true],
    ['HTML for JSON', 'json', Buffer.from('<html>'), false],
    ['HTML for subtitles', 'srt', Buffer.from('<html>'), false],
    ['a longer word than WEBVTT', 'vtt', Buffer.from('WEBVTTX'), false],
    ['bytes that are not UTF-8', 'text', Buffer.from([0x41, 0xff]), false],
    ['half a character at the end', 'text', Buffer.from('ü').subarray(0, 1), false],
    ['a NUL', 'text', Buffer.from('a\0b'), false],
  ];
  for (const [what, format, bytes, isAccepted] of cases) {
    it(`${isAccepted ? 'is accepted' : 'is rejected'}: ${what}`, () => {
      assert.equal(isTranscript(bytes, format), isAccepted);
    });
  }
});
