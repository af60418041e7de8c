/**
 * The singer's voice: each line of the lyrics spoken once by a voice of the speech engine, near the pitch at which it
 * will be sung, slowly, and kept with its syllables for every repetition.
 */
import { speak } from '../speech/speaking.ts';
import type { VoiceName } from '../speech/voices.ts';
import { syllablesOf } from './syllables.ts';
import type { Syllable } from './syllables.ts';

export interface Singer {
  readonly voice: VoiceName;
  /** Lowest and highest pitch of its tunes. */
  readonly range: readonly [low: number, high: number];
  /** The pitch range of its spoken lines, in Hz, for detecting their periods. */
  readonly lowestHertz: number;
  readonly highestHertz: number;
  /** How it speaks for singing: semitones over its usual pitch, and how fast. */
  readonly manner: { readonly pitch: number; readonly speed: number };
}

export const SINGERS: Readonly<Record<'female' | 'male', Singer>> = {
  female: { voice: 'slt', range: [57, 73], lowestHertz: 130, highestHertz: 420, manner: { pitch: 6, speed: 0.8 } },
  male: { voice: 'awb', range: [47, 62], lowestHertz: 85, highestHertz: 280, manner: { pitch: 3, speed: 0.8 } },
};

/** A spoken line. */
export interface SpokenLine {
  readonly text: string;
  readonly samples: Float32Array;
  readonly sampleRate: number;
  /** At least one. */
  readonly syllables: readonly Syllable[];
}

/** Speaks lines, each once. Returns undefined for a line in which no syllable is heard. */
export function createReader(singer: Singer, isRapped: boolean): (text: string) => SpokenLine | undefined {
  const spoken = new Map<string, SpokenLine | undefined>();
  const manner = isRapped ? { pitch: 0, speed: 1 } : singer.manner;
  return (text) => {
    if (!spoken.has(text)) {
      const { samples, sampleRate, phones } = speak(text, singer.voice, manner);
      const syllables = syllablesOf(phones);
      spoken.set(text, syllables.length === 0 ? undefined : { text, samples, sampleRate, syllables });
    }
    return spoken.get(text);
  };
}
