/**
 * The decisions made before a song is played, and how players write down their notes.
 */
import type { Random } from '@darkroom/seeded-random/random';
import type { Cast } from './casting.ts';
import { createClock, stray } from './clock.ts';
import type { Clock } from './clock.ts';
import type { Section, Timing } from './form.ts';
import type { Genre } from './genre.ts';
import type { HarmonyPlan } from './harmony.ts';
import type { PlacedSection, ScoreNote } from './score.ts';
import type { Key } from './theory.ts';
import type { Bar, Theme } from './tune.ts';

/** The decisions made before a song is played. */
export interface Setting {
  readonly genre: Genre;
  readonly key: Key;
  readonly bar: Bar;
  readonly timing: Timing;
  readonly sections: readonly PlacedSection[];
  readonly harmony: HarmonyPlan;
  readonly themes: Readonly<Record<'verse' | 'chorus' | 'bridge' | 'solo', Theme>>;
  readonly cast: Cast;
  /** Of the whole file. */
  readonly seconds: number;
  /** Steps from the beginning with vocals: first and last. */
  readonly sung: readonly (readonly [from: number, to: number])[];
}

/** The receiver of the notes of a part. */
export interface Scribe {
  readonly clock: Clock;
  /** Ends of the bars: notes that begin later are not played. */
  readonly endSeconds: number;
  /** Adds a note at a step from the beginning. @param weight 0 to 1. @param looseMs how far it may deviate. */
  note(
    part: number,
    step: number,
    length: number,
    pitch: number,
    weight: number,
    looseMs: number,
    delaySeconds?: number,
  ): void;
}

/** The bars of all sections in sequence. */
export function placeSections(sections: readonly Section[], barSeconds: number): PlacedSection[] {
  let startBar = 0;
  return sections.map((section) => {
    const placed = { ...section, startBar, startSeconds: startBar * barSeconds };
    startBar += section.bars;
    return placed;
  });
}

/** Writes notes to `notes`, with random timing errors. */
export function createScribe(setting: Setting, notes: ScoreNote[], random: Random): Scribe {
  const { genre, bar, timing } = setting;
  const clock = createClock(timing.barSeconds, bar, genre.swing, genre.swingSteps);
  return {
    clock,
    endSeconds: timing.endSeconds,
    note(part, step, length, pitch, weight, looseMs, delaySeconds = 0) {
      const at = clock.at(step);
      if (at >= timing.endSeconds - 1e-6) return;
      const end = Math.min(clock.at(step + length), timing.endSeconds);
      const begins = Math.max(0, at + delaySeconds + stray(looseMs / 1000, random));
      const velocity = Math.round(Math.min(Math.max(weight * (1 + stray(0.07, random)), 0.1), 1) * 112);
      notes.push({ part, at: begins, seconds: Math.max(0.03, end - at), pitch, velocity });
    },
  };
}

/** How loud a section is played: part of what distinguishes a chorus. */
export function dynamics(section: Section): number {
  return 0.7 + 0.06 * section.intensity;
}
