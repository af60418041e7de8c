/**
 * Composes a song with words: the lyrics are spoken once to know their syllables, the form is made for them, and the
 * tune is set before the band plays, so that the band can adapt to it.
 */
import type { Random } from '@darkroom/seeded-random/random';
import { writeScore } from './arrangement.ts';
import { beatsOf, createClock } from './clock.ts';
import { chooseFrame, composeOver } from './composition.ts';
import { shapeSections } from './form.ts';
import type { LyricSection } from './lyrics.ts';
import type { SongBrief } from './prompt-reading.ts';
import type { Score, ScoreNote, ScorePart } from './score.ts';
import { instrumentNamed } from './instruments.ts';
import { SINGERS, createReader } from './singer.ts';
import type { Singer, SpokenLine } from './singer.ts';
import { cutSungForm } from './sung-form.ts';
import { setLyrics } from './sung-tune.ts';
import type { SungLine, SungSection } from './sung-tune.ts';

export interface SungSong {
  readonly score: Score;
  readonly lines: readonly SungLine[];
  readonly singer: Singer;
}

/** Behind the voice in choruses: softly, at the voice's octave. */
const DOUBLE: ScorePart = { name: 'double', instrument: instrumentNamed('voices'), kit: 0, db: -15, pan: 0, hall: 0.5 };
const DOUBLE_VELOCITY = 62;

/** Genres that are sung by men unless the prompt says otherwise. */
const LOW_VOICES: ReadonlySet<string> = new Set(['metal', 'punk', 'blues', 'country', 'rock', 'hiphop', 'celtic']);

function chooseSinger(brief: SongBrief, random: Random): Singer {
  const isLow = random.chance(LOW_VOICES.has(brief.genre) ? 0.75 : 0.25);
  return SINGERS[brief.voice ?? (isLow ? 'male' : 'female')];
}

/** The part that doubles the sung line in choruses. */
function doubleNotes(part: number, lines: readonly SungLine[]): ScoreNote[] {
  return lines
    .filter(({ section, isSpoken }) => section.kind === 'chorus' && !isSpoken)
    .flatMap(({ notes }) =>
      notes.map(({ at, seconds, pitch }) => ({
        part,
        at,
        seconds: Math.max(0.08, seconds),
        pitch,
        velocity: DOUBLE_VELOCITY,
      })),
    );
}

/**
 * Composes a song with lyrics.
 *
 * @param seconds of the whole song; undefined: as long as the lyrics take, 300 at most.
 * @param progress is called with the share of the lyrics that has been read, 0 to 1.
 * @returns undefined when no syllable of the lyrics can be sung.
 */
export function composeSung(
  brief: SongBrief,
  lyrics: readonly LyricSection[],
  seconds: number | undefined,
  random: Random,
  progress: (fraction: number) => void,
): SungSong | undefined {
  const frame = chooseFrame(brief, random);
  const { genre, bar } = frame;
  const isRapped = brief.delivery === undefined ? genre.isRapped : brief.delivery === 'spoken';
  const singer = chooseSinger(brief, random.fork('singer'));
  const readSung = createReader(singer, false);
  const readRapped = createReader(singer, true);
  const count = lyrics.reduce((sum, { lines }) => sum + lines.length, 0);
  let done = 0;
  const sections = lyrics.map(({ kind, lines, isSpoken }) => {
    const spoken = isSpoken || (isRapped && kind !== 'chorus') || (isRapped && brief.delivery === 'spoken');
    const read = lines
      .map((line) => {
        done += 1;
        progress(done / count);
        return spoken ? readRapped(line) : readSung(line);
      })
      .filter((line): line is SpokenLine => line !== undefined);
    return { kind, lines: read, isSpoken: spoken };
  });
  if (!sections.some(({ lines }) => lines.length > 0)) return undefined;
  const barSeconds = (60 / frame.bpm) * beatsOf(bar);
  const form = cutSungForm(sections, { barSeconds, isFixed: brief.bpm !== undefined, seconds });
  const shaped = shapeSections(
    form.sections,
    { energy: brief.energy, isDance: genre.isDance, mayRise: brief.tonic === undefined && !genre.isDance },
    random.fork('form'),
  );
  const timing = {
    bpm: (60 / form.barSeconds) * beatsOf(bar),
    barSeconds: form.barSeconds,
    bars: form.bars,
    endSeconds: form.bars * form.barSeconds,
  };
  const setting = composeOver(brief, frame, timing, shaped, form.seconds, random);
  const clock = createClock(timing.barSeconds, bar, genre.swing, genre.swingSteps);
  const sung = setting.sections.flatMap((section, index): SungSection[] => {
    const plan = form.sections[index];
    return plan === undefined || plan.lines.length === 0 ? [] : [{ ...plan, section }];
  });
  const lines = setLyrics(sung, setting, singer.range, clock);
  const score = writeScore({ ...setting, sung: lines.map(({ steps }) => steps) }, random.fork('score'));
  const notes = [...score.notes, ...doubleNotes(score.parts.length, lines)].sort((one, other) => one.at - other.at);
  return { score: { ...score, parts: [...score.parts, DOUBLE], notes }, lines, singer };
}
