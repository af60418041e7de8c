/** How a text is prepared before it is spoken, and which sound belongs to which word afterwards. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { passagesOf } from '../../src/speech/passages.ts';
import { speakableText } from '../../src/speech/speakable-text.ts';
import { speakWords } from '../../src/speech/speaking.ts';

describe('a speakable text', () => {
  it('has words instead of signs that the voices do not know', () => {
    const spoken = {
      'It’s “fine”…': 'It\'s "fine"...',
      'naïve café — Zoë': 'naive cafe, Zoe',
      '£5 and 6 € at 20 °C': '5 pounds and 6 euros at 20 degrees Celsius',
      'ann@home.example or https://www.example.com/x': 'ann at home dot example or example dot com slash x',
      'salt & pepper': 'salt and pepper',
      'ten − one × two': 'ten - one times two',
      'Привет, Αθήνα': 'Preevyet, Atheena',
      '**bold** <b>word</b> 😀 end': 'bold b word b end',
      'line\r\nbreak': 'line\nbreak',
    };
    for (const [text, words] of Object.entries(spoken)) assert.equal(speakableText(text), words);
  });

  it('is empty when nothing can be spoken, and plain ASCII otherwise', () => {
    for (const text of ['', ' \n', '😀', '你好', '؟', '\u0000\ud800', '—']) assert.equal(speakableText(text), '');
    const everything = Array.from({ length: 0x3000 }, (_, code) => String.fromCharCode(code)).join('');
    assert.match(speakableText(everything), /^[\x20-\x7e\n]+$/);
  });

  it('has no run of letters that would be spelled for minutes', () => {
    assert.ok(
      Math.max(
        ...speakableText('a'.repeat(4000))
          .split(' ')
          .map((word) => word.length),
      ) <= 40,
    );
  });
});

describe('passages', () => {
  it('are sentences with their pauses, and do not end at abbreviations', () => {
    const passages = passagesOf('Dr. Smith met Mr. J. Jones, e.g. at 5 p.m. today. "Really?" Yes...\n\nThe end.');

    assert.deepEqual(
      passages.map(({ text }) => text),
      ['Dr. Smith met Mr. J. Jones, e.g. at 5 p.m. today.', '"Really?"', 'Yes...', 'The end.'],
    );
    const [first, , trailing, last] = passages.map(({ pauseSeconds }) => pauseSeconds);
    assert.ok((trailing ?? 0) > (first ?? 0), 'a paragraph ends with a longer pause');
    assert.ok((last ?? 0) > 0);
  });

  it('split a sentence that is too long at its commas, otherwise between words, without losing any', () => {
    for (const sentence of [`${'one more thing, '.repeat(60)}end.`, `${'word '.repeat(300)}end.`, 'x'.repeat(900)]) {
      const passages = passagesOf(sentence);

      assert.ok(passages.every(({ text }) => text.length <= 220));
      assert.equal(
        passages
          .map(({ text }) => text)
          .join('')
          .replaceAll(' ', ''),
        sentence.replaceAll(' ', ''),
      );
    }
    assert.ok(
      passagesOf(`${'one more thing, '.repeat(30)}end.`)
        .slice(0, -1)
        .every(({ text }) => text.endsWith(',')),
    );
  });

  it('omit parts with neither letters nor digits', () => {
    assert.deepEqual(passagesOf('...\n\n- - -\n?!'), []);
  });
});

describe('speaking words', () => {
  it('returns the sounds of each word in order, with their times', () => {
    const { samples, sampleRate, phones, words } = speakWords('Love, the night and 42 days I can’t', 'rms');

    assert.deepEqual(
      words.map(({ text }) => text),
      ['love', 'the', 'night', 'and', 'forty', 'two', 'days', 'i', 'cant'],
    );
    assert.deepEqual(
      words.slice(0, 3).map((word) => word.phones.map(({ name }) => name).join(' ')),
      ['l ah v', 'dh ax', 'n ay t'],
    );
    // The sounds of all words are all sounds except the silence, and follow each other.
    const spoken = phones.filter(({ name }) => name !== 'pau');
    assert.deepEqual(
      words.flatMap((word) => word.phones),
      spoken,
    );
    for (const [index, { start, end }] of phones.entries()) {
      assert.ok(end > start);
      assert.equal(start, phones[index - 1]?.end ?? 0);
    }
    assert.ok((phones.at(-1)?.end ?? 0) <= samples.length / sampleRate + 0.05);
  });

  it('returns no samples when there is nothing to speak', () => {
    assert.equal(speakWords('…', 'slt').samples.length, 0);
  });
});
