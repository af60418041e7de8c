/**
 * Decides what a song is before it is played: key, tempo, form, chords, themes and band. The same prompt and seed give
 * the same decisions.
 */
import type { Random } from '@darkroom/seeded-random/random';
import { writeScore } from './arrangement.ts';
import { castBand } from './casting.ts';
import { barOf, beatsOf } from './clock.ts';
import { cutSections, fitBars, usualTempo } from './form.ts';
import type { Section, Timing } from './form.ts';
import type { Genre } from './genre.ts';
import { genreNamed } from './genres.ts';
import { layHarmony } from './harmony.ts';
import type { SongBrief } from './prompt-reading.ts';
import type { Score } from './score.ts';
import { placeSections } from './setting.ts';
import type { Setting } from './setting.ts';
import type { Key } from './theory.ts';
import { inventTheme } from './tune.ts';
import type { Bar } from './tune.ts';

/** Common tonics of bands: few accidentals first. */
const TONICS = [0, 7, 2, 9, 4, 5, 10, 3, 0, 7, 2, 9] as const;
/** A blues repeats after twelve bars, everything else after eight. */
const [BLUES_UNIT, UNIT] = [12, 8];

export function chooseKey(brief: SongBrief, genre: Genre, random: Random): Key {
  const isDark =
    brief.valence === undefined
      ? random.chance(genre.darkChance)
      : brief.valence < -0.05 || (brief.valence < 0.25 && random.chance(genre.darkChance));
  const modes = isDark ? genre.dark : genre.bright;
  const mode = brief.mode ?? modes[random.integer(0, modes.length - 1)] ?? 'major';
  return { tonic: brief.tonic ?? random.pick(TONICS), mode };
}

/** What a genre and a prompt determine before the form is known. */
export interface Frame {
  readonly genre: Genre;
  readonly key: Key;
  readonly bar: Bar;
  readonly bpm: number;
  readonly unit: number;
}

export function chooseFrame(brief: SongBrief, random: Random): Frame {
  const named = genreNamed(brief.genre);
  const genre = { ...named, metre: brief.metre ?? named.metre };
  const bar = barOf(genre.metre);
  const usual = usualTempo(genre.bpm, brief.energy, random.fork('tempo'));
  // A tempo counted in quarters is counted in dotted quarters where there are two to a bar.
  const bpm = brief.bpm ?? (bar.beat === 6 && named.metre !== '6/8' ? usual * 0.72 : usual);
  const unit = genre.progressions === 'blues' && bar.steps === 16 ? BLUES_UNIT : UNIT;
  return { genre, key: chooseKey(brief, genre, random.fork('key')), bar, bpm, unit };
}

/** Casts and writes a song whose form is decided. */
export function composeOver(
  brief: SongBrief,
  frame: Frame,
  timing: Timing,
  sections: readonly Section[],
  seconds: number,
  random: Random,
): Setting {
  const { genre, key, bar } = frame;
  const cast = castBand(brief, genre, random.fork('cast'));
  const energy = 1 + 0.25 * brief.energy;
  const style = { ...genre.tune, density: genre.tune.density * energy };
  const themes = {
    verse: inventTheme({ ...style, density: style.density * 0.9 }, bar, -0.25, random.fork('verse')),
    chorus: inventTheme(style, bar, 0.3, random.fork('chorus')),
    bridge: inventTheme({ ...style, density: style.density * 0.8 }, bar, 0.1, random.fork('bridge')),
    solo: inventTheme(
      { ...style, density: style.density * 1.5, grid: style.density > 0.8 ? 1 : style.grid },
      bar,
      0.15,
      random.fork('solo'),
    ),
  };
  return {
    genre,
    key,
    bar,
    timing,
    sections: placeSections(sections, timing.barSeconds),
    harmony: layHarmony(sections, key, genre, random.fork('harmony')),
    themes,
    cast,
    seconds,
    sung: [],
  };
}

/** Composes a piece without words of a given length in seconds. */
export function composeInstrumental(brief: SongBrief, seconds: number, random: Random): Score {
  const frame = chooseFrame(brief, random);
  const timing = fitBars(
    seconds,
    frame.bpm,
    brief.bpm !== undefined,
    beatsOf(frame.bar),
    frame.unit === BLUES_UNIT ? 12 : 4,
  );
  const sections = cutSections(
    {
      bars: timing.bars,
      unit: frame.unit,
      energy: brief.energy,
      isDance: frame.genre.isDance,
      mayRise: brief.tonic === undefined && !frame.genre.isDance && frame.genre.hall < 0.5,
    },
    random.fork('form'),
  );
  const setting = composeOver(brief, frame, timing, sections, seconds, random);
  return writeScore(setting, random.fork('score'));
}
