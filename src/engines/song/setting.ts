/**
 * What is decided before anybody plays, and how players put down their notes.
 */
import type { Random } from '../image/random.ts';
import type { Cast } from './casting.ts';
import { createClock, stray } from './clock.ts';
import type { Clock } from './clock.ts';
import type { Section, Timing } from './form.ts';
import type { Genre } from './genre.ts';
import type { HarmonyPlan } from './harmony.ts';
import type { PlacedSection, ScoreNote } from './score.ts';
import type { Key } from './theory.ts';
import type { Bar, Theme } from './tune.ts';

/** What is decided before anybody plays. */
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
  /** Steps from the beginning in which somebody sings: first and last. */
  readonly sung: readonly (readonly [from: number, to: number])[];
}

/** Where the notes of a part go. */
export interface Scribe {
  readonly clock: Clock;
  /** Ends of the bars: what begins after is not played. */
  readonly endSeconds: number;
  /** Adds a note at a step from the beginning. @param weight 0 to 1. @param looseMs how far it may stray. */
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

/** The bars of all sections in a row. */
export function placeSections(sections: readonly Section[], barSeconds: number): PlacedSection[] {
  let startBar = 0;
  return sections.map((section) => {
    const placed = { ...section, startBar, startSeconds: startBar * barSeconds };
    startBar += section.bars;
    return placed;
  });
}

/** What is written goes to `notes`; hands stray by chance. */
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

/** How loud a section is played: part of what makes a chorus one. */
export function dynamics(section: Section): number {
  return 0.7 + 0.06 * section.intensity;
}
