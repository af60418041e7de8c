/** Promises of a video's audio: its length, its loudness, and that events are heard when they are seen. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { planVideo } from '../../src/video/video.ts';
import { renderTrack, wavOf } from '../../src/video/audio/track.ts';
import type { TrackPlan } from '../../src/video/audio/track.ts';
import { integratedLoudness } from '../../src/sound/signal/loudness.ts';

const RATE = 48_000;

async function trackOf(prompt: string, duration: number): Promise<Extract<TrackPlan, { kind: 'scene' }>> {
  const input = { prompt, duration, resolution: '480p', generate_audio: true };
  const { audio } = await planVideo({ input, seed: 3, media: new Map() });
  assert.ok(audio?.kind === 'scene');
  return audio;
}

function energy(samples: Float32Array, from: number, to: number): number {
  let sum = 0;
  for (let index = Math.round(from * RATE); index < to * RATE; index++) sum += (samples[index] ?? 0) ** 2;
  return sum / (to - from);
}

describe('the audio of a scene', () => {
  it('is as long as the video to the sample, in stereo, never clipped, and of one loudness', async () => {
    const plan = await trackOf('a river in spring with birds', 5);
    const [left, right] = renderTrack(plan);

    assert.equal(left.length, 5 * RATE);
    assert.equal(right.length, 5 * RATE);
    assert.ok(left.some((sample, index) => Math.abs(sample - (right[index] ?? 0)) > 0.001));
    assert.ok(left.every((sample) => Math.abs(sample) < 1));
    const loudness = integratedLoudness([left, right], RATE);
    assert.ok(loudness > -22 && loudness < -16, String(loudness));
  });

  it('is the same for the same video', async () => {
    const [first, again] = [renderTrack(await trackOf('the sea', 2)), renderTrack(await trackOf('the sea', 2))];

    assert.deepEqual(first[0], again[0]);
  });

  it('matches the scene: each scene has its own sounds', async () => {
    for (const [prompt, name] of [
      ['rain over a lake', 'rain'],
      ['waves at the sea', 'wave'],
      ['a campfire at night', 'fire'],
      ['a forest with birds, morning', 'bird'],
      ['a meadow in summer at night', 'cricket'],
      ['a coral reef', 'under water'],
    ] as const) {
      const { voices } = await trackOf(prompt, 4);
      assert.ok(
        voices.some((voice) => voice.name === name && Math.max(voice.gain(0), voice.gain(1)) > 0),
        prompt,
      );
    }
  });

  it('plays thunder after its lightning', async () => {
    const plan = await trackOf('a thunderstorm over the sea', 8);
    const [thunder] = plan.events;
    assert.ok(thunder?.name === 'thunder' && thunder.at > 0.3);

    const alone = renderTrack({ ...plan, voices: [] });
    const before = energy(alone[0], thunder.at - 0.3, thunder.at);
    assert.ok(energy(alone[0], thunder.at, thunder.at + 0.5) > 4 * before);
  });

  it('changes with the light: birds by day, crickets by night', async () => {
    const { voices } = await trackOf('a meadow in summer, from noon to night', 6);
    const gain = (name: string, share: number): number => voices.find((voice) => voice.name === name)?.gain(share) ?? 0;

    assert.ok(gain('bird', 0) > gain('bird', 1));
    assert.ok(gain('cricket', 1) > gain('cricket', 0));
  });
});

describe('audio from the input', () => {
  it('is cut when it is too long and repeated when it is too short', () => {
    const tone = Float32Array.from(
      { length: 2 * RATE },
      (_, index) => 0.3 * Math.sin((index * 440 * 2 * Math.PI) / RATE),
    );
    const audio = { channels: [tone, tone] as const, seconds: 2 };
    const short = renderTrack({ kind: 'given', seconds: 1, audio });
    const long = renderTrack({ kind: 'given', seconds: 5, audio });

    assert.equal(short[0].length, RATE);
    assert.equal(long[0].length, 5 * RATE);
    for (const at of [0.6, 1.9, 2.6, 3.4, 4.2]) assert.ok(energy(long[0], at, at + 0.2) > 500, String(at));
  });

  it('is written as a WAV file with a correct header', () => {
    const wav = wavOf([new Float32Array(480), new Float32Array(480)]);

    assert.equal(wav.toString('latin1', 0, 4), 'RIFF');
    assert.equal(wav.readUInt32LE(24), RATE);
    assert.equal(wav.readUInt16LE(22), 2);
    assert.equal(wav.length, 44 + 480 * 4);
  });
});
