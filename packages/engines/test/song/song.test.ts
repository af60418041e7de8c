/** The engine as a whole: files are rendered and analysed. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { renderSong } from '../../src/song/song.ts';
import { LoudnessMeter } from '../../src/sound/signal/loudness.ts';
import { decodeAudio } from '@darkroom/media/decode';
import { UnusableInputError } from '../../src/unusable-input-error.ts';
import { keysOf, readWav, tempoOf } from './listening.ts';
import type { Recording } from './listening.ts';

const NAMES = ['C', 'C#', 'D', 'Eb', 'E', 'F', 'F#', 'G', 'Ab', 'A', 'Bb', 'B'];

describe('the engine song', () => {
  let directory = '';
  before(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'song-'));
  });
  after(async () => {
    await rm(directory, { recursive: true, force: true });
  });

  /** Renders in a directory of its own. @returns the path of the file. */
  async function render(input: Record<string, unknown>, seed = 1, reported: number[] = []): Promise<string> {
    const scratch = await mkdtemp(path.join(directory, 'job-'));
    const files = await renderSong({
      input,
      seed,
      media: new Map(),
      scratch,
      progress: (fraction) => void reported.push(fraction),
    });
    assert.equal(files.length, 1);
    const [file] = files;
    assert.ok(file !== undefined && 'path' in file && path.dirname(file.path) === scratch);
    return file.path;
  }

  function loudnessOf({ channels, rate }: Recording): LoudnessMeter {
    const meter = new LoudnessMeter(rate, 2);
    meter.add(channels);
    return meter;
  }

  it('plays at the requested tempo, in the requested key, at the loudness of its genre, without clipping', async () => {
    const music = readWav(
      await render({ prompt: 'energetic rock in E minor at 132 bpm', duration: 12, format: 'wav' }, 2),
    );
    assert.equal(music.rate, 44_100);
    assert.equal(music.channels[0]?.length, 12 * 44_100);
    const tempo = tempoOf(music, 90, 178);
    assert.ok(Math.abs(tempo / 132 - 1) < 0.02, `${tempo} beats a minute`);
    // The key a fifth above shares six of its seven notes.
    const keys = keysOf(music)
      .slice(0, 2)
      .map(({ tonic, mode }) => `${NAMES[tonic]} ${mode}`);
    assert.ok(keys.includes('E minor'), keys.join());
    const meter = loudnessOf(music);
    assert.ok(Math.abs(meter.integrated() + 14) < 1.2, `${meter.integrated()} LUFS`);
    assert.ok(meter.peak < 0.9, `a peak of ${meter.peak}`);
  });

  it('plays slow and bright songs', async () => {
    const music = readWav(await render({ prompt: 'gentle folk in G major, 84 bpm', duration: 16, format: 'wav' }));
    const tempo = tempoOf(music, 60, 118);
    assert.ok(Math.abs(tempo / 84 - 1) < 0.02, `${tempo} beats a minute`);
    const keys = keysOf(music)
      .slice(0, 2)
      .map(({ tonic, mode }) => `${NAMES[tonic]} ${mode}`);
    assert.ok(keys.includes('G major'), keys.join());
  });

  it('writes files of exactly the requested length in every format, and nothing else into the directory', async () => {
    for (const format of ['mp3', 'wav', 'flac']) {
      const file = await render({ prompt: 'piano jingle', duration: 3, format });
      assert.equal(path.extname(file), `.${format}`);
      assert.deepEqual(await readdir(path.dirname(file)), [path.basename(file)]);
      const { seconds } = await decodeAudio(file, { sampleRate: 44_100, maxSeconds: 60 });
      // One frame of mp3 is 1152 samples; the other formats have no frames.
      assert.ok(Math.abs(seconds - 3) <= (format === 'mp3' ? 1152 : 0) / 44_100, `${format}: ${seconds} s`);
    }
  });

  it('writes an mp3 of thirty seconds when neither format nor duration is given', async () => {
    const reported: number[] = [];
    const file = await render({ prompt: 'calm solo harp' }, 1, reported);
    assert.equal(path.extname(file), '.mp3');
    const { seconds } = await decodeAudio(file, { sampleRate: 8000, maxSeconds: 60 });
    assert.ok(Math.abs(seconds - 30) < 0.03, `${seconds} s`);
    assert.ok(
      reported.length > 10 &&
        reported.every((fraction, index) => fraction >= (reported[index - 1] ?? 0) && fraction <= 1),
    );
    assert.ok((reported[0] ?? 1) < 0.3 && (reported.at(-1) ?? 0) > 0.95);
  });

  it('writes the same bytes for the same seed, and different bytes for another seed', async () => {
    const hash = async (seed: number): Promise<string> => {
      const file = await render({ prompt: 'reggae', lyrics: 'One good day', duration: 3 }, seed);
      return createHash('sha256')
        .update(await readFile(file))
        .digest('hex');
    };
    const [one, again, other] = [await hash(5), await hash(5), await hash(6)];
    assert.equal(one, again);
    assert.notEqual(one, other);
  });

  it('sings all lyrics when no duration is given', async () => {
    const lyrics =
      '[Verse]\nSunlight falls upon the water\nI will find my way back home\n[Chorus]\nHome again, home again';
    const file = await render({ prompt: 'pop', lyrics, format: 'wav' });
    const music = readWav(file);
    assert.ok(music.seconds > 12 && music.seconds < 60 && Number.isInteger(music.seconds), `${music.seconds} s`);
    assert.ok(loudnessOf(music).peak < 0.9);
  });

  it('rejects lyrics without anything that can be sung', async () => {
    await assert.rejects(render({ prompt: 'pop', lyrics: '🎵 ♪ …' }), (error: unknown) => {
      assert.ok(error instanceof UnusableInputError);
      assert.match(error.message, /^lyrics: /);
      assert.deepEqual(error.fault, { kind: 'unusable_text', field: 'lyrics' });
      return true;
    });
  });
});
