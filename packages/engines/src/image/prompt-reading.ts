/**
 * Reads a prompt: which known things it names, in what colour and number, the time, the weather, the season, the style,
 * and the text in quotes. Never fails; it ignores unknown words. Reading is by words and their order, not by grammar: a
 * colour belongs to the thing that follows it, and `no` and `without` exclude the next thing.
 */
import { hex } from './colour.ts';
import type { Colour } from './colour.ts';
import { groupOf, withKin } from './absence.ts';
import type { Excluded } from './absence.ts';
import { PHRASES, SEASONS, STYLES, THINGS, TIMES, WEATHERS } from './lexicon.ts';
import { COLOURS, COUNTS, MATERIALS, SIZES, USUAL_COLOURS } from './lexicon-qualities.ts';
import type { Material } from './lexicon-qualities.ts';
import type { Season, Style, Thing, TimeOfDay, Weather } from './lexicon.ts';

/** One thing that a prompt names. */
export interface Mention {
  readonly thing: Thing;
  readonly colour: Colour | undefined;
  /** How many: a number before it, 3 for a bare plural, else 1. */
  readonly count: number;
  /** 1, or the factor of an adjective of size. */
  readonly scale: number;
  /** The word that named it, in the singular: a person can be a knight. Absent if no word named it. */
  readonly word?: string;
  readonly material?: Material;
  /** The rider on it. */
  readonly rider?: Mention;
}

/** The content of a prompt, as far as it is understood. */
export interface PromptReading {
  /** In the order of first mention, each thing once. */
  readonly mentions: readonly Mention[];
  /** Things that it excludes. */
  readonly absent: ReadonlySet<Excluded>;
  /** Colours that belong to no thing: they tint the whole image. At most three. */
  readonly colours: readonly Colour[];
  readonly time: TimeOfDay | undefined;
  readonly weather: ReadonlySet<Weather>;
  readonly season: Season | undefined;
  readonly style: Style;
  /** The texts in quotes, at most four, spaces collapsed, control characters removed. */
  readonly quotations: readonly string[];
  /** The prompt without its quotations: it seeds the image, so that other lettering leaves the image unchanged. */
  readonly scenery: string;
}

const QUOTED =
  /"([^"]*)"|“([^”]*)”|„([^“”]*)[“”]|«([^»]*)»|「([^」]*)」|(?<=^|[\s(,:;])['‘]([^'‘’]*)['’](?=$|[\s).,:;!?])/gu;
const NEGATIONS = new Set(['no', 'without', 'not', 'minus']);
/** The most words between a colour and its thing: `red and white lighthouse`, `a green old car`. */
const COLOUR_REACH_WORDS = 3;
/** Words that make the preceding colours those of the whole image: `in warm orange tones`. */
const TONES = new Set(['tone', 'tones', 'palette', 'colour', 'colours', 'color', 'colors', 'hue', 'hues', 'shades']);
const MORE_TONES = new Set(['light', 'glow', 'haze', 'mood', 'theme', 'tint', 'world', 'background', 'atmosphere']);
const MOST_QUOTATIONS = 4;

/** Natural colours that need no paint: a red fox is a fox. */
function ownColour(word: string, named: Colour | undefined): Colour | undefined {
  if (named !== undefined)
    return /^fox(es)?$/.test(word) && String(named) === String(hex(COLOURS.get('red') ?? '#000000'))
      ? undefined
      : named;
  const usual = USUAL_COLOURS[word];
  return usual === undefined ? undefined : hex(usual);
}

/** One line of printable text: control characters and lone halves of surrogate pairs (`Cs`) become spaces. */
function printable(text: string): string {
  return text
    .replace(/[\p{Cc}\p{Cs}\p{Co}\p{Cn}\uFFFD]/gu, ' ')
    .replace(/\s+/gu, ' ')
    .trim();
}

function takeQuotations(prompt: string): { rest: string; quotations: string[] } {
  const quotations: string[] = [];
  const rest = prompt.replace(QUOTED, (_match, ...groups: unknown[]) => {
    const text = printable(groups.slice(0, 6).find((group): group is string => typeof group === 'string') ?? '');
    // A text of only joiners and direction marks is empty.
    if (!/^[\p{Z}\p{Cf}\p{M}]*$/u.test(text) && quotations.length < MOST_QUOTATIONS) quotations.push(text);
    return ' , ';
  });
  return { rest, quotations };
}

/** The words of a prompt in lower case; a comma or a full stop counts as a word, because it ends a group of words. */
function wordsOf(text: string): string[] {
  let plain = text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/['’]s\b/g, '')
    .replace(/[^a-z0-9,.;\n-]+/g, ' ');
  for (const phrase of PHRASES) {
    const spaced = phrase.replaceAll('-', '[ -]');
    plain = plain.replace(new RegExp(`\\b${spaced}(e?s)?\\b`, 'g'), `${phrase}$1`);
  }
  return (plain.match(/[a-z0-9]+(?:-[a-z0-9]+)*|[,.;\n]/g) ?? []).flatMap((word) =>
    word.includes('-') && !PHRASES.some((phrase) => word.startsWith(phrase)) ? word.split('-') : [word],
  );
}

/** The forms under which a word may appear in the lexicon, itself first. */
function formsOf(word: string): string[] {
  const forms = [word];
  if (word.endsWith('ies')) forms.push(`${word.slice(0, -3)}y`);
  if (word.endsWith('ves')) forms.push(`${word.slice(0, -3)}f`, `${word.slice(0, -3)}fe`);
  if (word.endsWith('es')) forms.push(word.slice(0, -2));
  if (word.endsWith('s')) forms.push(word.slice(0, -1));
  if (word.endsWith('men')) forms.push(`${word.slice(0, -3)}man`);
  if (word === 'children') forms.push('child');
  if (word === 'geese') forms.push('goose');
  return forms;
}

function lookUp<Found>(
  words: ReadonlyMap<string, Found>,
  word: string,
): { found: Found; form: string; isPlural: boolean } | undefined {
  for (const form of formsOf(word)) {
    const found = words.get(form);
    if (found !== undefined) return { found, form, isPlural: form !== word };
  }
  return undefined;
}

/** Words whose base form already means several. */
const COLLECTIVE = new Set([
  'flock',
  'people',
  'family',
  'bouquet',
  'regatta',
  'cattle',
  'fireworks',
  'caravan',
  'cacti',
]);

/** Reads a prompt of any content; the time grows with its length only. */
export function readPrompt(prompt: string): PromptReading {
  const { rest, quotations } = takeQuotations(prompt);
  const mentions = new Map<Thing, Mention>();
  const absent = new Set<Excluded>();
  const loose: Colour[] = [];
  const weather = new Set<Weather>();
  let time: TimeOfDay | undefined;
  let season: Season | undefined;
  let style: Style = 'natural';
  let pending: { colours: Colour[]; index: number } | undefined;
  let isNegated = false;
  let count: number | undefined;
  let scale = 1;
  let material: Material | undefined;

  // A colour before an unknown word belongs to that word, and tints nothing: `a red umbrella`.
  const release = (end: number): void => {
    if (pending !== undefined && end === pending.index + 1) loose.push(...pending.colours);
    pending = undefined;
  };
  const words = wordsOf(rest);
  for (const [index, word] of words.entries()) {
    if (pending !== undefined && (TONES.has(word) || MORE_TONES.has(word))) release(pending.index + 1);
    if (pending !== undefined && index - pending.index > COLOUR_REACH_WORDS) release(index);
    if (/^[,.;\n]$/.test(word)) {
      release(index);
      [isNegated, count, scale, material] = [false, undefined, 1, undefined];
      continue;
    }
    if (NEGATIONS.has(word)) {
      isNegated = true;
      continue;
    }
    const thing = lookUp(THINGS, word);
    const colour = COLOURS.get(word);
    if (thing !== undefined && !(colour !== undefined && word === 'coral' && mentions.size > 0)) {
      if (isNegated) {
        for (const kin of withKin(thing.found)) {
          mentions.delete(kin);
          absent.add(kin);
        }
      } else if (!mentions.has(thing.found)) {
        const isMany = thing.isPlural || COLLECTIVE.has(word);
        const most = Math.max(1, Math.min(9, count ?? (isMany ? 3 : 1)));
        absent.delete(thing.found);
        mentions.set(thing.found, {
          thing: thing.found,
          colour: ownColour(word, pending?.colours[0]),
          count: most,
          scale,
          word: thing.form,
          ...(material === undefined ? {} : { material }),
        });
        pending = undefined;
      }
      [isNegated, count, scale, material] = [false, undefined, 1, undefined];
    } else if (colour !== undefined) {
      // In `red and white lighthouse` the first colour is the thing's; `teal and orange` alone are the image's.
      pending = { colours: [...(pending?.colours ?? []), hex(colour)], index };
    }
    const named = [lookUp(TIMES, word)?.found, lookUp(WEATHERS, word)?.found, lookUp(SEASONS, word)?.found] as const;
    if (isNegated) {
      const names = [...named, ...groupOf(word)].flatMap((name) => name ?? []);
      for (const name of names) absent.add(name);
      isNegated = names.length === 0;
    } else {
      time ??= named[0];
      if (named[1] !== undefined) weather.add(named[1]);
      season ??= named[2];
    }
    if (style === 'natural') style = lookUp(STYLES, word)?.found ?? 'natural';
    count = COUNTS.get(word) ?? count;
    if (/^[2-9]$/.test(word)) count = Number(word);
    scale = SIZES.get(word) ?? scale;
    material = MATERIALS.get(word) ?? material;
  }
  release(words.length);
  const scenery = rest.replace(/[\s,]+/gu, ' ').trim();
  return {
    mentions: [...mentions.values()],
    absent,
    colours: loose.slice(0, 3),
    time,
    weather,
    season,
    style,
    quotations,
    scenery,
  };
}
