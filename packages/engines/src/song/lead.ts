/**
 * The lead plays the tune: the themes in verse, chorus and bridge, a freer line in a solo, a hint of the chorus in the
 * introduction, and, if there are vocals, only small answers in the gaps.
 */
import type { Random } from '@darkroom/seeded-random/random';
import type { Instrument } from './instruments.ts';
import type { PlacedSection, ScoreNote } from './score.ts';
import { dynamics } from './setting.ts';
import type { Scribe, Setting } from './setting.ts';
import { nearest, scaleOf } from './theory.ts';
import type { Key } from './theory.ts';
import { phrasesFor, pitchLine } from './tune.ts';
import type { Theme, TuneNote } from './tune.ts';

/** The best range of a tune, whatever else an instrument can reach. */
const [TUNE_LOW, TUNE_HIGH] = [55, 88];
/** Gaps with room for fewer notes than this are left to the singer's breath. */
const FEWEST_ANSWER_NOTES = 2;

/** The range in which an instrument plays a tune of that span. */
export function tuneRange(instrument: Instrument, span: number): readonly [low: number, high: number] {
  const [low, high] = [Math.max(instrument.range[0], TUNE_LOW - 12), Math.min(instrument.range[1], TUNE_HIGH)];
  const wished = instrument.family === 'bells' ? 76 : instrument.range[0] < 45 && instrument.isSustained ? 60 : 69;
  const half = span / 2;
  const centre = Math.min(Math.max(wished, low + half), Math.max(low + half, high - half));
  return [Math.round(centre - half), Math.round(centre + half)];
}

/** Which of the two leads plays in a section. */
function leadOf(section: PlacedSection): 0 | 1 {
  return section.kind === 'chorus' || section.kind === 'bridge' ? 1 : 0;
}

function themeFor(setting: Setting, section: PlacedSection): Theme {
  if (section.kind === 'solo') return setting.themes.solo;
  if (section.kind === 'verse') return setting.themes.verse;
  return section.kind === 'bridge' || section.kind === 'break' ? setting.themes.bridge : setting.themes.chorus;
}

/** Whether the tune is played in this part of a section at all. */
function isHeard(section: PlacedSection, phrase: number, phrases: number): boolean {
  if (section.kind === 'intro') return section.bars >= 4 && phrase >= phrases / 2;
  if (section.kind === 'break') return false;
  if (section.kind === 'outro') return phrase < Math.max(1, phrases - 1);
  return true;
}

function overlaps(sung: Setting['sung'], from: number, to: number): boolean {
  return sung.some(([start, end]) => start < to && end > from);
}

/** The next pitch of the key. */
function stepAbove(pitch: number, key: Key): number {
  return scaleOf(key).includes((pitch + 1) % 12) ? pitch + 1 : pitch + 2;
}

/** A tune's notes as an instrument plays them: tied, or a little apart, and occasionally with an ornament. */
function writePhrase(
  notes: readonly TuneNote[],
  start: number,
  part: number,
  instrument: Instrument,
  gain: number,
  { genre, bar, key }: Setting,
  scribe: Scribe,
  random: Random,
): void {
  const isFolk = ['fiddle', 'whistle', 'flute', 'bagpipe', 'shenai', 'sitar'].includes(instrument.name);
  for (const note of notes) {
    const isLong = note.length >= bar.beat;
    const tied = instrument.isSustained ? (isLong ? 0.95 : 1.02) : 1.15;
    scribe.note(part, start + note.step, note.length * tied, note.pitch, note.weight * gain, genre.looseMs);
    if (isFolk && isLong && random.chance(0.35)) {
      scribe.note(part, start + note.step - 0.4, 0.4, stepAbove(note.pitch, key), note.weight * gain * 0.7, 2);
    }
  }
}

export function writeLead(
  setting: Setting,
  firstPart: number,
  notes: ScoreNote[],
  scribe: Scribe,
  random: Random,
): void {
  const { bar, sections, genre, harmony, cast, timing, seconds } = setting;
  let from: number | undefined;
  for (const section of sections) {
    // A section's tune starts without a previous note, so that its repetitions are identical.
    from = undefined;
    const which = leadOf(section);
    const instrument = cast.leads[which];
    const style = genre.tune;
    const [lowest, highest] = tuneRange(instrument, style.span);
    const theme = themeFor(setting, section);
    const phrases = phrasesFor(section.bars);
    const start = section.startBar * bar.steps;
    for (const [index, phrase] of phrases.entries()) {
      const offset = start + index * 2 * bar.steps;
      const room = Math.min(2 * bar.steps, section.bars * bar.steps - index * 2 * bar.steps);
      if (room <= 0 || !isHeard(section, index, phrases.length)) continue;
      const beats = theme.rhythm(phrase).filter((beat) => beat.step < room);
      const free = beats.filter(
        (beat) => !overlaps(setting.sung, offset + beat.step - 1, offset + beat.step + Math.min(beat.length, bar.beat)),
      );
      const answers = free.length < beats.length;
      if (free.length === 0 || (answers && free.length < FEWEST_ANSWER_NOTES)) continue;
      const line = pitchLine(
        free,
        {
          lowest,
          highest,
          leaps: style.leaps,
          harmonyAt: (step) => harmony.at(Math.floor(((offset + step) / bar.steps) * 2)),
          contour: theme.contour(phrase),
          from,
          comesHome: phrase === 'close',
          seed: theme.seed,
        },
        bar,
      );
      from = line.at(-1)?.pitch;
      writePhrase(
        line,
        offset,
        firstPart + which,
        instrument,
        dynamics(section) * (answers ? 0.8 : 1),
        setting,
        scribe,
        random,
      );
    }
  }
  const last = sections.at(-1);
  if (last === undefined || overlaps(setting.sung, timing.bars * bar.steps - 2, Infinity)) return;
  const which = leadOf(last);
  const pitch = nearest(harmony.final.key.tonic, from ?? 72);
  const held = Math.max(0.3, seconds - timing.endSeconds - 0.05);
  notes.push({
    part: firstPart + which,
    at: timing.endSeconds,
    seconds: held,
    pitch,
    velocity: Math.round(70 + 6 * Math.min(4, last.intensity)),
  });
}
