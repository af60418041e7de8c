/**
 * The chords of a song, bar by bar: each section's progression laid over its bars, with a cadence where a section leads
 * into the next, and the key that holds there.
 */
import type { Random } from '@darkroom/seeded-random/random';
import type { Section } from './form.ts';
import type { Genre } from './genre.ts';
import { MODAL, PROGRESSIONS } from './progressions.ts';
import type { ProgressionSet } from './progressions.ts';
import { coloured, isMinor, readChord, tonesOf, transposed } from './theory.ts';
import type { Chord, Key } from './theory.ts';

/** The harmony of one half of a bar. */
export interface Harmony {
  readonly chord: Chord;
  readonly key: Key;
}

/** The harmony of every half bar of a song, and of the final chord. */
export interface HarmonyPlan {
  /** At a half bar counted from the beginning; past the end, the final chord. */
  at(halfBar: number): Harmony;
  readonly final: Harmony;
}

type Theme = 'verse' | 'chorus' | 'bridge';

/** Which progression a section is played over. */
export function themeOf(kind: Section['kind']): Theme {
  if (kind === 'verse' || kind === 'solo') return 'verse';
  return kind === 'bridge' || kind === 'break' ? 'bridge' : 'chorus';
}

function progressionsFor(genre: Genre, key: Key): ProgressionSet {
  const family = PROGRESSIONS[genre.progressions];
  const own = isMinor(key.mode) ? family.dark : family.bright;
  // A blues stays a blues in any scale; a church mode has chords of its own.
  return genre.progressions === 'blues' ? own : (MODAL[key.mode] ?? own);
}

/** The bars of a progression, each of one symbol or two. */
function barsOf(progression: string): string[][] {
  return progression.split(' ').map((bar) => bar.split(':'));
}

/** @param mayCadence false if the bars' harmony defines the genre: a blues, a drone. */
export function layHarmony(sections: readonly Section[], key: Key, genre: Genre, random: Random): HarmonyPlan {
  const set = progressionsFor(genre, key);
  const chosen: Readonly<Record<Theme, string[][]>> = {
    verse: barsOf(random.pick(set.verse as readonly [string, ...string[]])),
    chorus: barsOf(random.pick(set.chorus as readonly [string, ...string[]])),
    bridge: barsOf(random.pick(set.bridge as readonly [string, ...string[]])),
  };
  const symbols = Object.values(chosen).flat(2);
  const dominant = symbols.find((symbol) => /^[Vv](7|13|7b9|7sus)?$/.test(symbol)) ?? (isMinor(key.mode) ? 'V' : 'V');
  const isModal = MODAL[key.mode] !== undefined || genre.isDance || genre.progressions === 'horror';
  const halves: Harmony[] = [];
  let shift = 0;
  for (const [index, section] of sections.entries()) {
    const bars = chosen[themeOf(section.kind)];
    shift = section.shift;
    const here = transposed(key, shift);
    const next = sections[index + 1];
    for (let bar = 0; bar < section.bars; bar++) {
      const row = bars[Math.floor(bar / genre.barsPerChord) % bars.length] ?? ['I'];
      const leads = bar === section.bars - 1 && next !== undefined && section.bars >= 4 && !isModal;
      for (const half of [0, 1]) {
        let symbol = row[Math.min(half, row.length - 1)] ?? 'I';
        if (leads && half === 1 && next.kind === 'chorus' && genre.progressions !== 'blues') symbol = dominant;
        // A higher key is introduced by its own dominant.
        const target = leads && half === 1 && next.shift !== shift ? transposed(key, next.shift) : here;
        if (target !== here) symbol = 'V7';
        halves.push({ chord: coloured(readChord(symbol, target.tonic), genre.colour, here), key: here });
      }
    }
  }
  const last = transposed(key, shift);
  const tonic = readChord(isMinor(key.mode) ? 'i' : 'I', last.tonic);
  const final = {
    chord: coloured(tonic, genre.colour === 'sevenths' || genre.colour === 'ninths' ? 'added' : genre.colour, last),
    key: last,
  };
  const cadence = halves.length - 2;
  if (!isModal && halves.length >= 4 && genre.progressions !== 'blues') {
    // The bar before the end always leads home.
    const chord = coloured(
      readChord(dominant === 'V' || dominant === 'v' ? 'V7' : dominant, last.tonic),
      'triads',
      last,
    );
    const before = halves[cadence];
    const isHome = before !== undefined && tonesOf(before.chord).every((tone) => tonesOf(tonic).includes(tone));
    if (isHome)
      halves[cadence] = {
        chord: coloured(readChord(isMinor(key.mode) ? 'iv' : 'IV', last.tonic), 'triads', last),
        key: last,
      };
    halves[cadence + 1] = { chord, key: last };
  }
  return { at: (halfBar) => halves[halfBar] ?? final, final };
}
