/**
 * How lyrics define a form: bars for each line, an introduction, interludes and an end, fitted into a time. Lyrics that
 * do not fit are sung at a faster tempo, then without repetitions, then with more syllables per beat; the first verse
 * is never omitted.
 */
import { ringOf } from './form.ts';
import type { PlainSection, SectionKind } from './form.ts';
import type { SpokenLine } from './singer.ts';

/** A section of lyrics whose lines have been spoken once. */
export interface ReadSection {
  readonly kind: SectionKind;
  /** Empty: the section is instrumental. */
  readonly lines: readonly SpokenLine[];
  readonly isSpoken: boolean;
}

export interface SungPlan extends PlainSection {
  readonly lines: readonly SpokenLine[];
  readonly barsPerLine: number;
  readonly isSpoken: boolean;
}

export interface SungForm {
  readonly sections: readonly SungPlan[];
  readonly barSeconds: number;
  /** All bars before the final chord. */
  readonly bars: number;
  /** Of the whole song. */
  readonly seconds: number;
}

/** The requirements of a form. */
export interface SungWish {
  /** Seconds of a bar at the desired tempo. */
  readonly barSeconds: number;
  /** Whether that tempo was requested. */
  readonly isFixed: boolean;
  /** Of the whole song; undefined: as long as the lyrics take. */
  readonly seconds: number | undefined;
}

/** The preferred seconds per syllable, sung and rapped; and a breath after the line. */
const [SUNG_SECONDS, RAPPED_SECONDS, BREATH_SECONDS] = [0.27, 0.19, 0.3];
/** No song is longer. */
const MOST_SECONDS = 300;
const BARS_PER_LINE = [0.25, 0.5, 1, 2, 4, 8] as const;
/** How much faster than desired a song may be to fit. */
const FASTER = [1, 1.05, 1.1, 1.15] as const;
/** How much slower it may be where few bars must fill the time. */
const SLOWEST = 1.3;
/** The factors by which the time per syllable may shrink: 0.3 is 12 a second, the fastest possible speech. */
const TIGHTER = [1, 0.85, 0.7, 0.55, 0.42, 0.3] as const;
/** How long an introduction is, about. */
const INTRO_SECONDS = 7;

/** How a form is made to fit. */
interface Squeeze {
  readonly faster: number;
  readonly tight: number;
  readonly isWithoutRepeats: boolean;
  /** How many sections with lines are kept, and how many lines of the last section. */
  readonly sections: number;
  readonly lines: number;
}

const UNSQUEEZED: Squeeze = { faster: 1, tight: 1, isWithoutRepeats: false, sections: Infinity, lines: Infinity };

function textOf({ lines }: ReadSection): string {
  return lines.map(({ text }) => text.toLowerCase()).join('\n');
}

/** The remaining sections, without repeated lyrics. */
function keptSections(sections: readonly ReadSection[], squeeze: Squeeze): ReadSection[] {
  const texts = sections.map(textOf);
  const once = sections.filter(
    ({ lines }, index) =>
      !squeeze.isWithoutRepeats || (lines.length > 0 && texts.indexOf(texts[index] ?? '') === index),
  );
  const sung = once.filter(({ lines }) => lines.length > 0);
  if (sung.length <= squeeze.sections && squeeze.lines === Infinity) return once;
  const kept = sung.slice(0, squeeze.sections);
  return kept.map((section, index) =>
    index === kept.length - 1 ? { ...section, lines: section.lines.slice(0, squeeze.lines) } : section,
  );
}

function barsPerLine({ lines, isSpoken }: ReadSection, barSeconds: number, tight: number): number {
  const longest = Math.max(...lines.map(({ syllables }) => syllables.length));
  const needed = (longest * (isSpoken ? RAPPED_SECONDS : SUNG_SECONDS) + BREATH_SECONDS) * tight;
  const least = tight < 0.6 ? 0.25 : tight < 1 ? 0.5 : 1;
  return BARS_PER_LINE.find((bars) => bars >= least && bars * barSeconds >= needed * 0.92) ?? 8;
}

function planOf(section: ReadSection, barSeconds: number, tight: number): SungPlan {
  const { kind, lines, isSpoken } = section;
  if (lines.length === 0) return { kind, lines, isSpoken, barsPerLine: 0, bars: 4 };
  const each = barsPerLine(section, barSeconds, tight);
  const bars = Math.ceil(each * lines.length);
  return { kind, lines, isSpoken, barsPerLine: each, bars: bars > 2 && tight === 1 ? bars + (bars % 2) : bars };
}

/** An interlude of a given number of bars. */
function silent(kind: SectionKind, bars: number): SungPlan {
  return { kind, bars, lines: [], barsPerLine: 0, isSpoken: false };
}

function barsIn(sections: readonly SungPlan[]): number {
  return sections.reduce((sum, { bars }) => sum + bars, 0);
}

/** An introduction and an end, and a moment to breathe before the second verse. */
function framed(sections: readonly SungPlan[], barSeconds: number): SungPlan[] {
  const intro = Math.max(1, Math.min(4, Math.round(INTRO_SECONDS / barSeconds / 2) * 2));
  const second = sections.findIndex(({ kind }, index) => index >= 2 && kind === 'verse');
  const withPause =
    second < 0 || sections[second - 1]?.lines.length === 0
      ? sections
      : [...sections.slice(0, second), silent('intro', Math.min(2, intro)), ...sections.slice(second)];
  const start = sections[0]?.lines.length === 0 ? [] : [silent('intro', intro)];
  const end = sections.at(-1)?.lines.length === 0 ? [] : [silent('outro', Math.min(2, intro))];
  return [...start, ...withPause, ...end];
}

/** All ways to squeeze, the gentlest first. */
function* squeezes(sections: readonly ReadSection[], isFixed: boolean): Generator<Squeeze> {
  const speeds = isFixed ? [1] : FASTER;
  for (const isWithoutRepeats of [false, true]) {
    for (const faster of speeds) yield { ...UNSQUEEZED, faster, isWithoutRepeats };
  }
  const faster = speeds.at(-1) ?? 1;
  const hard = { ...UNSQUEEZED, faster, isWithoutRepeats: true };
  for (const tight of TIGHTER.slice(1)) yield { ...hard, tight };
  // Only then fewer lyrics, each time with the gentlest squeeze first.
  const sung = sections.filter(({ lines }) => lines.length > 0);
  for (let count = sung.length - 1; count >= 1; count--) {
    for (const tight of TIGHTER) yield { ...hard, tight, sections: count };
  }
  for (let lines = (sung[0]?.lines.length ?? 1) - 1; lines >= 1; lines--) {
    for (const tight of TIGHTER) yield { ...hard, tight, sections: 1, lines };
  }
}

/** Fills the bars that lyrics leave over: longer ends, solos between the sections, and repetitions of everything. */
function stretched(sections: readonly SungPlan[], bars: number): SungPlan[] {
  let filled = [...sections];
  const sung = sections.filter(({ lines }) => lines.length > 0);
  while (bars - barsIn(filled) >= barsIn(sung) + 12) {
    filled = [
      ...filled.filter(({ kind, lines }) => kind !== 'outro' || lines.length > 0),
      silent('solo', 8),
      ...sung,
      silent('outro', 2),
    ];
  }
  let spare = bars - barsIn(filled);
  if (spare >= 8) {
    // Before the last chorus, or at its end if there is none.
    const last = filled.findLastIndex(({ kind, lines }) => kind === 'chorus' && lines.length > 0);
    const solo = Math.min(16, Math.floor(spare / 8) * 4);
    filled.splice(last > 0 ? last : filled.length - 1, 0, silent('solo', solo));
    spare = bars - barsIn(filled);
  }
  const first = filled[0];
  const intro = Math.min(4, Math.floor(spare / 4) * 2);
  if (first !== undefined && first.lines.length === 0 && intro > 0) {
    filled[0] = { ...first, bars: first.bars + intro };
    spare -= intro;
  }
  const end = filled.at(-1);
  if (end !== undefined && spare > 0) {
    if (end.lines.length === 0) filled[filled.length - 1] = { ...end, bars: end.bars + spare };
    else filled.push(silent('outro', spare));
  }
  return filled;
}

/** Cuts a form for lyrics. There is at least one section with lines. */
export function cutSungForm(sections: readonly ReadSection[], wish: SungWish): SungForm {
  const usual = framed(
    sections.map((section) => planOf(section, wish.barSeconds, 1)),
    wish.barSeconds,
  );
  const requested = wish.seconds ?? Math.min(MOST_SECONDS, barsIn(usual) * wish.barSeconds + ringOf(Infinity));
  if (wish.seconds === undefined && requested < MOST_SECONDS) {
    // Whole seconds: the final chord takes the rest.
    return { sections: usual, barSeconds: wish.barSeconds, bars: barsIn(usual), seconds: Math.ceil(requested) };
  }
  const room = requested - ringOf(requested);
  let tightest: SungForm | undefined;
  for (const squeeze of squeezes(sections, wish.isFixed)) {
    const barSeconds = wish.barSeconds / squeeze.faster;
    const kept = keptSections(sections, squeeze).map((section) => planOf(section, barSeconds, squeeze.tight));
    const bars = Math.floor(room / barSeconds + 1e-9);
    const whole = framed(kept, barSeconds);
    const short = [...(kept[0]?.lines.length === 0 || squeeze.tight < 0.5 ? [] : [silent('intro', 1)]), ...kept];
    const chosen =
      barsIn(whole) <= bars ? stretched(whole, bars) : barsIn(short) <= bars ? stretched(short, bars) : undefined;
    if (chosen !== undefined) {
      const count = barsIn(chosen);
      // If the tempo is free, the bars fill the time exactly; squeezed lyrics take all the available time.
      const slowest = squeeze.tight < 1 ? wish.barSeconds * SLOWEST : barSeconds * 1.05;
      const exact = wish.isFixed ? barSeconds : Math.min(room / count, slowest);
      return { sections: chosen, barSeconds: exact, bars: count, seconds: requested };
    }
    tightest = { sections: kept, barSeconds: room / barsIn(kept), bars: barsIn(kept), seconds: requested };
  }
  return tightest ?? { sections: usual, barSeconds: wish.barSeconds, bars: barsIn(usual), seconds: requested };
}
