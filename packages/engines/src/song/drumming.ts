/**
 * The drummer: a groove for each section's intensity, small changes every few bars, fills into the next section, and a
 * crash where it begins.
 */
import type { Random } from '@darkroom/seeded-random/random';
import { FILLS, FILLS_OF_THREE, GROOVES, GROOVES_OF_THREE } from './patterns.ts';
import { playDrums } from './playing.ts';
import type { DrumStroke } from './playing.ts';
import type { PlacedSection } from './score.ts';
import type { Scribe, Setting } from './setting.ts';
import type { Bar } from './tune.ts';

const [KICK, SNARE, CRASH, OPEN_HAT, CLOSED_HAT] = [36, 38, 49, 46, 42];
/** Above these intensities the middle groove, and the full one. */
const [MIDDLE_FROM, FULL_FROM] = [1.7, 3.3];

/** The three grooves of a name in a metre. */
function groovesOf(name: string, bar: Bar): readonly [string, string, string] {
  if (bar.steps === 16) return GROOVES[name] ?? GROOVES['pop'] ?? ['', '', ''];
  const ofThree =
    bar.beat === 6
      ? name === 'reel'
        ? 'jig'
        : name === 'epic'
          ? 'epic-six'
          : 'pop-six'
      : name === 'swing'
        ? 'jazz-waltz'
        : 'waltz';
  return GROOVES_OF_THREE[ofThree] ?? ['', '', ''];
}

function grooveFor(section: PlacedSection, grooves: readonly [string, string, string]): DrumStroke[] {
  const level = section.intensity > FULL_FROM ? 2 : section.intensity > MIDDLE_FROM ? 1 : 0;
  return playDrums(grooves[level]);
}

/** Every now and then something is left out, or added. */
function varied(strokes: readonly DrumStroke[], bar: Bar, isTurn: boolean, random: Random): DrumStroke[] {
  const kept = strokes.filter(({ key, weight }) => weight > 0.6 || key === KICK || !random.chance(0.06));
  if (!isTurn) return kept;
  if (random.chance(0.5)) {
    const at = bar.steps - 2;
    const hats = kept.filter(({ key, step }) => !(key === CLOSED_HAT && step >= at));
    if (kept.some(({ key }) => key === CLOSED_HAT)) return [...hats, { step: at, key: OPEN_HAT, weight: 0.75 }];
  }
  const snare = kept.find(({ key }) => key === SNARE);
  return snare === undefined ? kept : [...kept, { step: bar.steps - 1, key: SNARE, weight: 0.42 }];
}

export function writeDrums(setting: Setting, part: number, scribe: Scribe, random: Random): void {
  const { bar, genre, cast, sections } = setting;
  const grooves = groovesOf(cast.groove, bar);
  const fills = (bar.steps === 16 ? FILLS : FILLS_OF_THREE)[genre.fill] ?? [];
  const loose = genre.looseMs * 0.35;
  const play = (strokes: readonly DrumStroke[], barIndex: number, gain: number): void => {
    for (const { step, key, weight } of strokes) {
      scribe.note(part, barIndex * bar.steps + step, 1, key, weight * gain, loose);
    }
  };
  for (const [index, section] of sections.entries()) {
    const next = sections[index + 1];
    const gain = 0.72 + 0.055 * section.intensity;
    // Beats come in halfway through an introduction, and are silent in the quiet sections of dance music.
    const holdsBreath = genre.isDance && section.intensity < 1.3 && section.kind !== 'intro';
    const from = section.kind === 'intro' && section.bars >= 4 && !genre.isDance ? section.bars / 2 : 0;
    for (let at = 0; at < section.bars; at++) {
      const barIndex = section.startBar + at;
      const isLast = at === section.bars - 1;
      if (isLast && next !== undefined && next.intensity > 1.5 && section.bars >= 2 && fills.length > 0) {
        const fill = playDrums(fills[random.integer(0, fills.length - 1)] ?? '');
        // A small change takes half a bar, a large one the whole bar.
        const half = Math.abs(next.intensity - section.intensity) < 1.2 ? bar.steps / 2 : 0;
        const before = at < from || holdsBreath ? [] : grooveFor(section, grooves).filter(({ step }) => step < half);
        play([...before, ...fill.filter(({ step }) => step >= half)], barIndex, gain);
        continue;
      }
      if (at < from || holdsBreath) continue;
      play(varied(grooveFor(section, grooves), bar, at % 4 === 3, random), barIndex, gain);
    }
    const begins = index > 0 && section.intensity > 2.5 && !holdsBreath && genre.fill !== 'soft';
    if (begins) scribe.note(part, section.startBar * bar.steps, 4, CRASH, 0.62 * gain, loose);
  }
}
