/**
 * The singing: lyrics parsed as sections, set to notes, fitted into a duration, and heard at the pitch of the tune.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createRandom, hashText } from '@darkroom/seeded-random/random';
import { readLyrics } from '../../src/song/lyrics.ts';
import { marksOf } from '../../src/song/pitch-marks.ts';
import { readPrompt } from '../../src/song/prompt-reading.ts';
import { SINGERS, createReader } from '../../src/song/singer.ts';
import { singLine } from '../../src/song/singing.ts';
import { composeSung } from '../../src/song/sung-composition.ts';
import type { SungSong } from '../../src/song/sung-composition.ts';
import { scaleOf } from '../../src/song/theory.ts';
import { pitchOf } from './listening.ts';

const RATE = 16_000;
const LYRICS = [
  '[Verse]',
  'Morning light upon the window',
  'And I know which way to go',
  '[Chorus]',
  'Oh we are rising with the sun',
  'The day has only just begun',
].join('\n');

function sing(prompt: string, lyrics: string, seconds?: number): SungSong {
  const random = createRandom(hashText(`1/${prompt}`));
  const song = composeSung(
    readPrompt(prompt, random.fork('prompt')),
    readLyrics(lyrics),
    seconds,
    random,
    () => undefined,
  );
  assert.ok(song !== undefined);
  return song;
}

/** How many of the longer notes are heard at their pitch, and how many there are. */
function notesInTune({ lines, singer }: SungSong): { inTune: number; all: number } {
  let [inTune, all] = [0, 0];
  for (const { line, notes, isSpoken } of lines) {
    const marks = marksOf(line, singer.lowestHertz, singer.highestHertz);
    const sung = singLine(line, marks, notes, { rate: RATE, isSpoken, detune: 0, late: 0 }, createRandom(1));
    for (const note of notes) {
      if (note.seconds < 0.24) continue;
      const from = Math.round((note.at + 0.07 - sung.startSeconds) * RATE);
      const hertz = pitchOf(sung.samples.subarray(from, from + Math.round(0.08 * RATE)), RATE, 70, 700);
      all += 1;
      if (hertz !== undefined && Math.abs(69 + 12 * Math.log2(hertz / 440) - note.pitch) < 0.5) inTune += 1;
    }
  }
  return { inTune, all };
}

describe('lyrics', () => {
  it('are divided by their tags, and a tag without lines repeats the chorus', () => {
    const sections = readLyrics(
      '[Verse 1]\nHello there\n\n[Chorus]\nLa la la x2\n[Verse 2]\nGood day\n[Chorus]\n[Guitar Solo]\n[Rap]\nHey you\n[Outro]\nBye',
    );
    assert.deepEqual(
      sections.map(({ kind, lines }) => [kind, ...lines]),
      [
        ['verse', 'Hello there'],
        ['chorus', 'La la la', 'La la la'],
        ['verse', 'Good day'],
        ['chorus', 'La la la', 'La la la'],
        ['solo'],
        ['verse', 'Hey you'],
        ['outro', 'Bye'],
      ],
    );
    assert.deepEqual(
      sections.map(({ isSpoken }) => isSpoken),
      [false, false, false, false, false, true, false],
    );
  });

  it('are divided into stanzas without tags, and a repeated stanza is the chorus', () => {
    const kinds = readLyrics('One\n\nCome home\n\nTwo\n\nCome home').map(({ kind }) => kind);
    assert.deepEqual(kinds, ['verse', 'chorus', 'verse', 'chorus']);
  });

  it('are split into lines of one breath without losing a word', () => {
    const text =
      'the quick brown fox jumps over the lazy dog and then he runs away into the deep dark forest, never to be seen again';
    const lines = readLyrics(text).flatMap((section) => section.lines);
    assert.ok(lines.length > 1 && lines.every((line) => line.length <= 60), lines.join(' | '));
    assert.equal(lines.join(' '), text.replace(',', ''));
  });

  it('are empty when nothing can be sung', () => {
    assert.deepEqual(readLyrics('…\n🎵\n'), []);
  });
});

describe('a song with lyrics', () => {
  it('sings all lines in their order, a note for each syllable, one after the other and in its sections', () => {
    const { lines, score } = sing('pop', LYRICS);
    assert.deepEqual(
      lines.map(({ line }) => line.text),
      LYRICS.split('\n').filter((line) => !line.startsWith('[')),
    );
    let end = 0;
    for (const { line, notes, section } of lines) {
      assert.equal(notes.length, line.syllables.length);
      for (const note of notes) {
        assert.ok(note.at >= end - 1e-6, `${line.text}: ${note.at} before ${end}`);
        end = note.at + note.seconds;
      }
      assert.ok((notes[0]?.at ?? 0) >= section.startSeconds);
    }
    assert.ok(end <= score.endSeconds);
  });

  it('sings the notes of the key, in the range of the voice', () => {
    const { lines, score, singer } = sing('pop in D major', LYRICS);
    const pitches = lines.flatMap(({ notes }) => notes.map(({ pitch }) => pitch));
    assert.ok(pitches.every((pitch) => pitch >= singer.range[0] && pitch <= singer.range[1]));
    const inKey = pitches.filter((pitch) => scaleOf(score.key).includes(pitch % 12));
    assert.ok(inKey.length >= pitches.length * 0.9, `${inKey.length} of ${pitches.length}`);
    assert.ok(new Set(pitches).size >= 4, 'a tune of three notes');
  });

  it('is heard at the pitches of its tune, by a woman and by a man', () => {
    for (const prompt of ['pop, female singer', 'rock, male singer']) {
      const { inTune, all } = notesInTune(sing(prompt, LYRICS));
      assert.ok(all >= 15, `${all} long notes`);
      assert.ok(inTune >= all * 0.85, `${prompt}: ${inTune} of ${all}`);
    }
  });

  it('speaks the verses of hip hop in rhythm, and sings them when the prompt says so', () => {
    assert.deepEqual(
      sing('boom bap hip hop', LYRICS).lines.map(({ isSpoken }) => isSpoken),
      [true, true, false, false],
    );
    assert.ok(sing('pop', LYRICS).lines.every(({ isSpoken }) => !isSpoken));
    assert.ok(sing('spoken word over jazz', LYRICS).lines.every(({ isSpoken }) => isSpoken));
  });

  it('fits any duration, and always has the first line of the first verse', () => {
    const lyrics = `${LYRICS}\n${LYRICS}\n${LYRICS}`;
    for (const seconds of [1, 3, 8, 15, 30, 60, 150, 300]) {
      const { lines, score } = sing('folk', lyrics, seconds);
      assert.equal(score.seconds, seconds);
      assert.equal(lines[0]?.line.text, 'Morning light upon the window', `${seconds} s`);
      const last = lines.at(-1)?.notes.at(-1);
      assert.ok(last !== undefined && last.at + last.seconds <= seconds, `${seconds} s: sung until ${last?.at}`);
    }
    const texts = (seconds: number): Set<string> =>
      new Set(sing('folk', lyrics, seconds).lines.map(({ line }) => line.text));
    assert.equal(texts(20).size, 4, 'all that is said is said once');
  });

  it('keeps the requested tempo', () => {
    assert.equal(sing('folk at 90 bpm', LYRICS, 40).score.bpm, 90);
    assert.equal(sing('folk at 90 bpm', LYRICS).score.bpm, 90);
  });

  it('extends vowels and keeps consonants short', () => {
    const singer = SINGERS.female;
    const line = createReader(singer, false)('so long');
    assert.ok(line !== undefined && line.syllables.length === 2);
    const notes = [
      { at: 1, seconds: 1.5, pitch: 62 },
      { at: 2.5, seconds: 1.5, pitch: 65 },
    ];
    const sung = singLine(
      line,
      marksOf(line, singer.lowestHertz, singer.highestHertz),
      notes,
      { rate: RATE, isSpoken: false, detune: 0, late: 0 },
      createRandom(1),
    );
    // The s comes before the beat, so that the vowel is on it.
    assert.ok(sung.startSeconds < 0.97 && sung.startSeconds > 0.6, `${sung.startSeconds}`);
    for (const at of [1.1, 1.4, 1.8, 2.2, 2.8, 3.2, 3.5]) {
      const from = Math.round((at - sung.startSeconds) * RATE);
      const hertz = pitchOf(sung.samples.subarray(from, from + 1600), RATE, 100, 500);
      assert.ok(hertz !== undefined, `no pitch at ${at} s`);
      assert.ok(Math.abs(69 + 12 * Math.log2(hertz / 440) - (at < 2.5 ? 62 : 65)) < 0.6, `${hertz} Hz at ${at} s`);
    }
  });
});
