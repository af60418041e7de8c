/** What is decided before a note is played: scores of every genre and length, checked as scores. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createRandom, hashText } from '@darkroom/seeded-random/random';
import { composeInstrumental } from '../../src/song/composition.ts';
import { GENRE_NAMES } from '../../src/song/prompt-lexicon.ts';
import { readPrompt } from '../../src/song/prompt-reading.ts';
import type { Score } from '../../src/song/score.ts';
import { isMinor, scaleOf } from '../../src/song/theory.ts';

function compose(prompt: string, seconds = 30, seed = 1): Score {
  const random = createRandom(hashText(`${seed}/${prompt}`));
  return composeInstrumental(readPrompt(prompt, random.fork('prompt')), seconds, random);
}

function instrumentsOf({ parts, notes }: Score): Set<string> {
  return new Set(notes.map((note) => parts[note.part]?.instrument?.name ?? 'drums'));
}

describe('the composition of a song', () => {
  it('writes a score of any genre and length that ends in time and stays within the range of each instrument', () => {
    for (const genre of GENRE_NAMES) {
      for (const seconds of [1, 2, 5, 17.5, 64, 300]) {
        const score = compose(genre.replace('-', ' '), seconds);
        const what = `${genre}, ${seconds} s`;
        assert.ok(score.notes.length >= 3, `${what}: ${score.notes.length} notes`);
        assert.ok(score.endSeconds > 0 && score.endSeconds < seconds, `${what}: the last chord at ${score.endSeconds}`);
        for (const { at, seconds: length, pitch, velocity, part } of score.notes) {
          assert.ok(at >= 0 && at < seconds && length > 0, `${what}: a note at ${at}`);
          assert.ok(Number.isInteger(pitch) && Number.isInteger(velocity) && velocity > 0 && velocity < 128, what);
          const instrument = score.parts[part]?.instrument;
          if (instrument === undefined) continue;
          const [low, high] = instrument.range;
          assert.ok(pitch >= low - 3 && pitch <= high + 3, `${what}: ${instrument.name} at ${pitch}`);
        }
        const last = score.notes.filter(({ at }) => at >= score.endSeconds - 0.02);
        assert.ok(last.length >= 2, `${what}: no final chord`);
      }
    }
  });

  it('plays at the tempo that the prompt names, and otherwise within the range of the genre', () => {
    assert.equal(compose('drum and bass at 174 bpm').bpm, 174);
    assert.equal(compose('slow waltz, tempo 96').bpm, 96);
    const house = compose('house').bpm;
    assert.ok(house > 114 && house < 134, `${house} beats a minute`);
    assert.ok(compose('calm lofi beats').bpm < compose('energetic punk').bpm);
  });

  it('plays in the key that the prompt names', () => {
    assert.deepEqual(compose('piano ballad in F# minor').key, { tonic: 6, mode: 'minor' });
    assert.deepEqual(compose('happy song in B flat major').key, { tonic: 10, mode: 'major' });
    assert.deepEqual(compose('jazz in D dorian').key, { tonic: 2, mode: 'dorian' });
    assert.deepEqual(compose('sad folk, key of Am').key, { tonic: 9, mode: 'minor' });
  });

  it('chooses a bright mode for a happy prompt and a dark one for a sad one', () => {
    for (const seed of [1, 2, 3, 4, 5, 6]) {
      assert.equal(isMinor(compose('happy joyful pop', 30, seed).key.mode), false);
      assert.equal(isMinor(compose('sad sorrowful pop', 30, seed).key.mode), true);
    }
  });

  it('keeps to the notes of the key except for chord extensions', () => {
    for (const prompt of ['pop in C major', 'folk in G major', 'ambient in D minor']) {
      const score = compose(prompt, 40);
      const scale = scaleOf(score.key);
      const pitched = score.notes.filter(({ part }) => score.parts[part]?.instrument !== undefined);
      const inKey = pitched.filter(({ pitch }) => scale.includes(pitch % 12));
      assert.ok(inKey.length / pitched.length > 0.85, `${prompt}: ${inKey.length} of ${pitched.length}`);
    }
  });

  it('uses the instruments that the prompt names, and none that it excludes', () => {
    assert.ok(instrumentsOf(compose('upbeat pop with violin and banjo')).has('violin'));
    assert.ok(instrumentsOf(compose('upbeat pop with violin and banjo')).has('banjo'));
    assert.deepEqual([...instrumentsOf(compose('solo cello'))], ['cello']);
    assert.deepEqual([...instrumentsOf(compose('solo harp, calm'))], ['harp']);
    assert.equal(instrumentsOf(compose('rock without drums')).has('drums'), false);
    assert.equal(instrumentsOf(compose('jazz, no piano')).has('piano'), false);
    assert.ok(instrumentsOf(compose('ambient with drums')).has('drums'));
    const koto = instrumentsOf(compose('japanese garden with koto and shakuhachi'));
    assert.ok(koto.has('koto') && koto.has('shakuhachi'));
  });

  it('casts different bands for different genres', () => {
    const bands = ['metal', 'bossa nova', 'chiptune', 'classical', 'techno', 'country'].map((prompt) =>
      instrumentsOf(compose(prompt)),
    );
    for (const [index, band] of bands.entries()) {
      for (const other of bands.slice(index + 1)) {
        const shared = [...band].filter((name) => name !== 'drums' && other.has(name));
        assert.ok(shared.length <= 2, `${[...band].join()} and ${[...other].join()}`);
      }
    }
  });

  it('has verses and choruses when it is long enough', () => {
    const kinds = compose('pop', 180).sections.map(({ kind }) => kind);
    for (const kind of ['intro', 'verse', 'chorus', 'bridge', 'outro'] as const)
      assert.ok(kinds.includes(kind), kinds.join(' '));
    const { sections } = compose('rock', 180);
    const [verse, chorus] = (['verse', 'chorus'] as const).map((kind) =>
      sections.find((section) => section.kind === kind),
    );
    assert.ok((chorus?.intensity ?? 0) > (verse?.intensity ?? 9));
  });

  it('repeats the tune of the chorus', () => {
    const score = compose('folk with clarinet in C major at 100 bpm', 180, 3);
    const choruses = score.sections.filter(({ kind, shift }) => kind === 'chorus' && shift === 0);
    const lead = score.parts.findLastIndex(({ name }) => name === 'lead');
    const barSeconds = (60 / score.bpm) * 4;
    const tunes = choruses
      .slice(0, 2)
      .map(({ startSeconds }) =>
        score.notes
          .filter(
            ({ part, at }) =>
              part === lead && at >= startSeconds + barSeconds * 2 - 0.05 && at < startSeconds + barSeconds * 6 - 0.05,
          )
          .map(({ pitch }) => pitch),
      );
    assert.ok((tunes[0]?.length ?? 0) >= 4, 'a chorus without a tune');
    assert.deepEqual(tunes[0], tunes[1]);
  });

  it('writes another song for another seed, and the same for the same', () => {
    assert.deepEqual(compose('pop', 30, 7), compose('pop', 30, 7));
    const pitches = (seed: number): string =>
      compose('pop', 30, seed)
        .notes.map(({ pitch }) => pitch)
        .join();
    assert.notEqual(pitches(7), pitches(8));
  });

  it('never fails, whatever the prompt', () => {
    for (const prompt of [
      '',
      ' ',
      '🎷🎹',
      '99999999 bpm in H minor',
      'no no without',
      'a'.repeat(5000),
      '日本の歌',
      'in C## xyz 0 bpm',
      '\u0000',
    ]) {
      assert.ok(compose(prompt, 8).notes.length > 0, JSON.stringify(prompt.slice(0, 20)));
    }
  });
});
