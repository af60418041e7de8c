/**
 * Writes the score of a song: the accompaniment bar by bar, drums with fills, the tune, a second voice, and the final
 * chord. The sung parts are written elsewhere (`sung-tune.ts`) and only read here, so that no instrument plays over
 * them.
 */
import type { Random } from '@darkroom/seeded-random/random';
import type { Player } from './casting.ts';
import { stray } from './clock.ts';
import { writeDrums } from './drumming.ts';
import type { Harmony } from './harmony.ts';
import { writeLead } from './lead.ts';
import { chooseBass, chooseComp, playBass, playComp } from './playing.ts';
import type { CompHand, PatternNote } from './playing.ts';
import type { PlacedSection, Score, ScoreNote, ScorePart } from './score.ts';
import { createScribe, dynamics } from './setting.ts';
import type { Scribe, Setting } from './setting.ts';
import { nearest } from './theory.ts';
import { pitchLine, withLengths } from './tune.ts';

/** Strings are struck one after the other, this far apart. */
const STRUM_SECONDS = 0.011;
const HALL_OF_DRUMS = 0.5;
/** A player that holds a chord takes a new breath, or bow, after this many bars. */
const LONGEST_TIE_BARS = 4;
/** The gain of a role that makes it audible beside others, in decibels: deep notes and short ones sound softer. */
const ROLE_DB: Readonly<Record<Player['role'], number>> = { bass: 4, comp: 1, pad: -1, arp: 4, counter: 6 };
const LEAD_DB = 2;

function harmoniesOf(setting: Setting, barIndex: number): readonly [Harmony, Harmony] {
  return [setting.harmony.at(barIndex * 2), setting.harmony.at(barIndex * 2 + 1)];
}

/** Whether a player has joined in by that section; in an introduction, players join one after the other. */
function plays(player: Player, section: PlacedSection, bar: number): boolean {
  if (player.from > section.intensity + 1e-9) return false;
  return section.kind !== 'intro' || section.bars < 4 || player.from <= 0.5 || bar >= section.bars / 2;
}

function writePlayer(player: Player, part: number, setting: Setting, scribe: Scribe, random: Random): void {
  const { bar, genre, sections } = setting;
  const isPower =
    player.pattern === 'chug' || player.pattern === 'power' || (genre.colour === 'power' && player.role === 'comp');
  const choose = player.role === 'bass' ? chooseBass : chooseComp;
  const patterns = new Map<string, string>();
  const hand: CompHand = { pattern: '', voicing: [] };
  for (const section of sections) {
    // The same kind of section is played the same way; a chorus has a way of its own.
    const way =
      section.kind === 'chorus' ? 'chorus' : section.kind === 'bridge' || section.kind === 'break' ? 'bridge' : 'verse';
    const pattern = patterns.get(way) ?? choose(player.pattern, bar, random.fork(way));
    patterns.set(way, pattern);
    hand.pattern = pattern;
    const written: PatternNote[] = [];
    for (let index = 0; index < section.bars; index++) {
      if (!plays(player, section, index)) continue;
      const barIndex = section.startBar + index;
      const harmonies = harmoniesOf(setting, barIndex);
      const notes =
        player.role === 'bass'
          ? playBass(pattern, harmonies, setting.harmony.at(barIndex * 2 + 2), player.centre, bar, random)
          : playComp(hand, harmonies, { centre: player.centre, voices: player.voices, isPower }, bar);
      written.push(...notes.map((note) => ({ ...note, step: barIndex * bar.steps + note.step })));
    }
    const isTied = pattern === 'drone' || (player.instrument.isSustained && /^[Xxo]\.+$/.test(pattern));
    writeNotes(isTied ? tied(written, bar.steps * LONGEST_TIE_BARS) : written, player, part, section, setting, scribe);
  }
}

/** Notes that are held on from one bar to the next where the pitch stays. */
function tied(notes: readonly PatternNote[], longest: number): PatternNote[] {
  const kept: PatternNote[] = [];
  const sounding = new Map<number, number>();
  for (const note of notes) {
    const previousIndex = sounding.get(note.pitch);
    const before = previousIndex === undefined ? undefined : kept[previousIndex];
    const isNext = before !== undefined && before.step + before.length === note.step;
    if (previousIndex !== undefined && isNext && before.length + note.length <= longest) {
      kept[previousIndex] = { ...before, length: before.length + note.length };
    } else {
      sounding.set(note.pitch, kept.length);
      kept.push(note);
    }
  }
  return kept;
}

function writeNotes(
  notes: readonly PatternNote[],
  player: Player,
  part: number,
  section: PlacedSection,
  { genre }: Setting,
  scribe: Scribe,
): void {
  const isStrummed = player.instrument.family === 'plucked' && player.pattern.startsWith('strum');
  const roll = player.instrument.family === 'keys' || isStrummed ? STRUM_SECONDS * (isStrummed ? 1 : 0.35) : 0;
  // Plucked strings and bells ring on; muted ones are cut short by the player.
  const rings =
    !player.instrument.isSustained && player.role !== 'bass' && player.pattern !== 'chug' && player.pattern !== 'funk';
  for (const note of notes) {
    const length = rings
      ? Math.max(note.length, player.role === 'arp' ? 6 : note.length)
      : note.length * (note.length <= 1 ? 0.85 : note.length >= 16 ? 1 : 0.96);
    const [low, high] = player.instrument.range;
    let { pitch } = note;
    while (pitch < low) pitch += 12;
    while (pitch > high) pitch -= 12;
    scribe.note(part, note.step, length, pitch, note.weight * dynamics(section), genre.looseMs, note.strum * roll);
  }
}

/** A second voice in long notes, under or over the tune. */
function writeCounter(player: Player, part: number, setting: Setting, scribe: Scribe, random: Random): void {
  const { bar, sections, harmony } = setting;
  const reach = 7;
  const centre = Math.min(
    Math.max(player.centre, player.instrument.range[0] + reach),
    player.instrument.range[1] - reach,
  );
  let from: number | undefined;
  for (const section of sections) {
    if (player.from > section.intensity || section.bars < 2) continue;
    const steps = Array.from({ length: section.bars }, (_, index) => index * bar.steps).flatMap((start) =>
      random.chance(0.35) ? [start, start + bar.steps / 2] : [start],
    );
    const start = section.startBar * bar.steps;
    const line = pitchLine(
      withLengths(steps, section.bars * bar.steps, bar),
      {
        lowest: centre - reach,
        highest: centre + reach,
        leaps: 0.1,
        harmonyAt: (step) => harmony.at(Math.floor(((start + step) / bar.steps) * 2)),
        contour: (previousIndex) => -setting.themes.chorus.contour('open')((previousIndex * section.bars) % 1) * 0.6,
        from,
        comesHome: false,
        seed: setting.themes.chorus.seed + 1,
      },
      bar,
    );
    from = line.at(-1)?.pitch;
    for (const note of line) {
      scribe.note(
        part,
        start + note.step,
        note.length * 0.97,
        note.pitch,
        0.72 * dynamics(section),
        setting.genre.looseMs,
      );
    }
  }
}

/** The last chord: every player that was playing, held into the silence. */
function writeEnding(
  setting: Setting,
  parts: readonly (Player | undefined)[],
  notes: ScoreNote[],
  random: Random,
): void {
  const { harmony, timing, seconds, sections, cast } = setting;
  const { chord } = harmony.final;
  const intensity = sections.at(-1)?.intensity ?? 3;
  const held = Math.max(0.3, seconds - timing.endSeconds - 0.05);
  const velocity = Math.round(66 + 8 * Math.min(intensity, 4));
  for (const [part, player] of parts.entries()) {
    if (player === undefined || player.from > Math.max(intensity, 1) + 0.7) continue;
    const voicing =
      player.role === 'bass'
        ? [nearest(chord.root, player.centre)]
        : player.role === 'counter'
          ? [
              nearest(
                chord.intervals.length > 2 ? (chord.root + (chord.intervals[1] ?? 4)) % 12 : chord.root,
                player.centre,
              ),
            ]
          : chord.intervals
              .slice(0, 4)
              .map((step, index) => nearest((chord.root + step) % 12, player.centre - 3 + index * 3));
    for (const [index, pitch] of [...new Set(voicing)].sort((one, other) => one - other).entries()) {
      const spread = player.instrument.isSustained ? 0 : index * 0.022;
      notes.push({
        part,
        at: timing.endSeconds + spread + Math.abs(stray(0.008, random)),
        seconds: held,
        pitch,
        velocity,
      });
    }
  }
  if (cast.kit === undefined || intensity < 1.2) return;
  const drums = parts.length;
  for (const key of intensity > 2 ? [36, 49] : [36]) {
    notes.push({ part: drums, at: timing.endSeconds, seconds: 0.4, pitch: key, velocity: velocity - 6 });
  }
}

/** Writes everything that the instruments play. */
export function writeScore(setting: Setting, random: Random): Score {
  const { cast, genre, timing } = setting;
  const notes: ScoreNote[] = [];
  const parts: ScorePart[] = [];
  for (const [index, player] of cast.players.entries()) {
    const stream = random.fork(`part ${index}`);
    const scribe = createScribe(setting, notes, stream.fork('hands'));
    const { instrument, db, pan } = player;
    parts.push({
      name: player.role,
      instrument,
      kit: 0,
      db: db + ROLE_DB[player.role],
      pan,
      hall: player.role === 'bass' ? genre.hall * 0.25 : genre.hall,
    });
    if (player.role === 'counter' && player.pattern === 'line') writeCounter(player, index, setting, scribe, stream);
    else writePlayer(player, index, setting, scribe, stream);
  }
  const drums = parts.length;
  parts.push({
    name: 'drums',
    instrument: undefined,
    kit: cast.kit ?? 0,
    db: genre.drumsDb,
    pan: 0,
    hall: genre.hall * HALL_OF_DRUMS,
  });
  if (cast.kit !== undefined) {
    writeDrums(setting, drums, createScribe(setting, notes, random.fork('drum hands')), random.fork('drums'));
  }
  const [verse, chorus] = cast.leads;
  parts.push({ name: 'lead', instrument: verse, kit: 0, db: LEAD_DB, pan: 0.08, hall: genre.hall * 1.1 });
  parts.push({ name: 'lead', instrument: chorus, kit: 0, db: LEAD_DB, pan: -0.08, hall: genre.hall * 1.1 });
  writeLead(setting, drums + 1, notes, createScribe(setting, notes, random.fork('lead hands')), random.fork('lead'));
  writeEnding(setting, cast.players, notes, random.fork('ending'));
  return {
    parts,
    notes: notes.sort((one, other) => one.at - other.at),
    bpm: timing.bpm,
    key: setting.key,
    sections: setting.sections,
    endSeconds: timing.endSeconds,
    seconds: setting.seconds,
  };
}
