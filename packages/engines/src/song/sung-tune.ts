/**
 * Sets lines of lyrics to music: where each syllable falls, heavy ones on heavy beats, in the rhythm of the section's
 * theme, and on which pitch.
 */
import type { Setting } from './setting.ts';
import type { SpokenLine } from './singer.ts';
import type { PlacedSection } from './score.ts';
import { phrasesFor, pitchLine, weightOf, withLengths } from './tune.ts';
import type { Bar, Beat, Theme } from './tune.ts';

/** One syllable on its note. */
export interface SungNote {
  /** When the vowel begins, in seconds from the beginning of the song. */
  readonly at: number;
  readonly seconds: number;
  readonly pitch: number;
}

/** One line as it is sung. */
export interface SungLine {
  readonly line: SpokenLine;
  /** One for each syllable. */
  readonly notes: readonly SungNote[];
  /** Steps from the beginning of the song: first and last. */
  readonly steps: readonly [from: number, to: number];
  readonly section: PlacedSection;
  readonly isSpoken: boolean;
}

/** A section with vocals: a number of bars for each line. */
export interface SungSection {
  readonly section: PlacedSection;
  readonly lines: readonly SpokenLine[];
  readonly barsPerLine: number;
  readonly isSpoken: boolean;
}

/** The share of a line's bars in which its syllables begin; then the last one is held, followed by a breath. */
const SUNG_SHARE = 0.74;
/** The same for a line that must be hurried. */
const HURRIED_SHARE = 0.93;
/** No singer sings notes shorter than this, in seconds; a rapper does. */
const SHORTEST_SUNG = 0.15;
const SHORTEST_RAPPED = 0.105;

/**
 * Places syllables on steps of a phrase.
 *
 * @param isLight for each syllable, whether it may be between beats.
 * @param grid steps between possible positions, 1 or 2.
 * @returns steps from the beginning of the phrase, rising.
 */
function placeSyllables(
  isLight: readonly boolean[],
  steps: number,
  grid: number,
  theme: readonly Beat[],
  bar: Bar,
): number[] {
  const count = isLight.length;
  const last = steps * SUNG_SHARE;
  const positions = Array.from({ length: Math.floor(last / grid) + 1 }, (_, index) => index * grid);
  // Too many for a rhythm: evenly, one after the other.
  if (positions.length < count * 1.15) return isLight.map((_, index) => (index * steps * HURRIED_SHARE) / count);
  const natural = Math.min(bar.beat * 1.25, Math.max(grid, last / (count - 0.4)));
  const themed = new Set(theme.map(({ step }) => step));
  const worthOf = (syllable: number, step: number): number => {
    const weight = Number.isInteger(step) ? weightOf(step, bar) : 0;
    const isHeavy = isLight[syllable] !== true;
    return (isHeavy ? 1.5 * weight : 0.5 * (1 - weight)) + (themed.has(step) ? 0.6 : 0);
  };
  // The best of all ways to place them, by dynamic programming over the position of the previous syllable.
  let scores = positions.map((step) => worthOf(0, step) - (step / steps) * 4 - (step === 0 ? 0 : 0.15));
  const back: Int32Array[] = [];
  for (let syllable = 1; syllable < count; syllable++) {
    const came = new Int32Array(positions.length).fill(-1);
    const next = positions.map((step, index) => {
      let best = -Infinity;
      for (let before = 0; before < index; before++) {
        const gap = (step - (positions[before] ?? 0)) / natural;
        const strain = gap < 1 ? (1 / gap - 1) * 1.1 : (gap - 1) * 0.9;
        const score = (scores[before] ?? -Infinity) - strain;
        if (score > best) {
          best = score;
          came[index] = before;
        }
      }
      return best + worthOf(syllable, step);
    });
    scores = next;
    back.push(came);
  }
  let position = scores.reduce(
    (best, score, index) => (score > (scores[best] ?? -Infinity) ? index : best),
    scores.length - 1,
  );
  const chosen = [positions[position] ?? 0];
  for (const came of back.toReversed()) {
    position = came[position] ?? 0;
    chosen.unshift(positions[position] ?? 0);
  }
  return chosen;
}

function themeOf(setting: Setting, { kind }: PlacedSection): Theme {
  const { themes } = setting;
  return kind === 'bridge' ? themes.bridge : kind === 'chorus' ? themes.chorus : themes.verse;
}

/** The theme's rhythm over a number of bars: its two bars repeated, or only the first. */
function rhythmOver(theme: Theme, phrase: Parameters<Theme['rhythm']>[0], bars: number, bar: Bar): Beat[] {
  const rhythm = theme.rhythm(phrase);
  const repeats = Math.ceil(bars / 2);
  return Array.from({ length: repeats }, (_, time) =>
    rhythm.map(({ step, length }) => ({ step: step + time * 2 * bar.steps, length })),
  ).flat();
}

/** Sets all lines of the sung sections. @param range lowest and highest pitch of the singer. */
export function setLyrics(
  sections: readonly SungSection[],
  setting: Setting,
  range: readonly [number, number],
  clock: { at(step: number): number; readonly stepSeconds: number },
): SungLine[] {
  const { bar, harmony } = setting;
  let from: number | undefined;
  return sections.flatMap(({ section, lines, barsPerLine, isSpoken }) => {
    const theme = themeOf(setting, section);
    const phrases = phrasesFor(lines.length * 2);
    const shortest = isSpoken ? SHORTEST_RAPPED : SHORTEST_SUNG;
    return lines.map((line, index): SungLine => {
      const phrase = phrases[index] ?? 'close';
      const start = (section.startBar + index * barsPerLine) * bar.steps;
      const steps = barsPerLine * bar.steps;
      const count = line.syllables.length;
      const roomy = (steps * SUNG_SHARE * 0.85) / count;
      const grid = roomy >= 2 && clock.stepSeconds < shortest * 1.2 ? 2 : 1;
      const placed = placeSyllables(
        line.syllables.map(({ isLight }) => isLight),
        steps,
        grid,
        rhythmOver(theme, phrase, barsPerLine, bar),
        bar,
      );
      const beats = withLengths(placed, Math.min(steps - bar.beat * 0.5, (placed.at(-1) ?? 0) + bar.beat * 2), bar);
      const [low, high] = range;
      // A chorus is higher than its verse.
      const lift = section.kind === 'chorus' ? 3 : 0;
      const notes = pitchLine(
        beats,
        {
          lowest: low + lift,
          highest: Math.min(high, low + lift + 13),
          leaps: 0.25,
          harmonyAt: (step) => harmony.at(Math.floor(((start + step) / bar.steps) * 2)),
          contour: theme.contour(phrase),
          from,
          comesHome: phrase === 'close',
          seed: theme.seed,
        },
        bar,
      );
      from = notes.at(-1)?.pitch;
      return {
        line,
        section,
        isSpoken,
        steps: [start + (placed[0] ?? 0), start + (beats.at(-1)?.step ?? 0) + (beats.at(-1)?.length ?? 0)],
        notes: notes.map((note) => {
          const at = clock.at(start + note.step);
          return { at, seconds: clock.at(start + note.step + note.length) - at, pitch: note.pitch };
        }),
      };
    });
  });
}
