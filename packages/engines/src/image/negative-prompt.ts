/**
 * The reading of a `negative_prompt` (spec §2.5): the things that it names are removed from the reading of the prompt,
 * and are not added to the image.
 */
import { groupOf, withKin } from './absence.ts';
import type { Excluded } from './absence.ts';
import type { Colour } from './colour.ts';
import type { Style } from './lexicon.ts';
import { readPrompt } from './prompt-reading.ts';
import type { PromptReading } from './prompt-reading.ts';

/** Letters, seals, marks. */
const LETTERING =
  /\b(text|texts|letters?|lettering|words?|writing|watermarks?|captions?|typography|signature|logos?)\b/i;

/** The exclusions of a `negative_prompt`. */
export interface Negation {
  readonly excluded: ReadonlySet<Excluded>;
  readonly style: Style;
  /** Colours without a thing: no part of the image has them. */
  readonly colours: readonly Colour[];
  readonly isWithoutText: boolean;
}

/** Reads a `negative_prompt`: everything that it names, and everything that it says is absent. */
export function readNegation(text: string): Negation {
  const reading = readPrompt(text);
  const words = reading.scenery.toLowerCase().match(/[a-z]+/g) ?? [];
  const excluded = new Set<Excluded>([
    ...reading.mentions.flatMap(({ thing }) => withKin(thing)),
    ...words.flatMap(groupOf),
    ...reading.absent,
    ...reading.weather,
  ]);
  if (reading.time !== undefined) excluded.add(reading.time);
  if (reading.season !== undefined) excluded.add(reading.season);
  return {
    excluded,
    style: reading.style,
    colours: reading.colours,
    isWithoutText: LETTERING.test(text) || reading.quotations.length > 0,
  };
}

/** A prompt's reading without the things that a negation excludes. */
export function without(reading: PromptReading, negation: Negation): PromptReading {
  const { excluded, style, isWithoutText } = negation;
  return {
    ...reading,
    mentions: reading.mentions.filter(({ thing }) => !excluded.has(thing)),
    absent: new Set([...reading.absent, ...excluded]),
    weather: new Set([...reading.weather].filter((weather) => !excluded.has(weather))),
    time: reading.time !== undefined && excluded.has(reading.time) ? undefined : reading.time,
    season: reading.season !== undefined && excluded.has(reading.season) ? undefined : reading.season,
    style: style !== 'natural' && reading.style === style ? 'natural' : reading.style,
    quotations: isWithoutText ? [] : reading.quotations,
  };
}
