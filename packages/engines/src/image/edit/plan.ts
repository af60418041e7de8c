/**
 * From the words of a prompt to a list of edits, in their order in the prompt. Known words and phrases only: an unknown
 * one changes nothing, and a prompt with no known one gets a careful improvement.
 */
import { hex } from '../colour.ts';
import { STYLES } from '../lexicon.ts';
import type { Thing } from '../lexicon.ts';
import { COLOURS } from '../lexicon-qualities.ts';
import { readPrompt } from '../prompt-reading.ts';
import type { PromptReading } from '../prompt-reading.ts';
import { SUBJECTS } from '../subjects.ts';
import { FRAMING_RULES, SCENE_RULES, TONE_RULES } from './plan-rules.ts';
import type { Edit, Rule } from './plan-rules.ts';

/** The edits that a prompt requests. */
export interface EditPlan {
  /** Crops, turns and extensions, in order; then everything else, in order. */
  readonly framing: readonly Edit[];
  readonly changes: readonly Edit[];
  /** Quoted texts to write on the image; none if the quotes name something to remove. */
  readonly lettering: readonly string[];
  readonly letteringPosition: 'top' | 'middle' | 'bottom';
  readonly reading: PromptReading;
  /** Lower case, without quotations. */
  readonly words: string;
}

const COLOUR_NAMES = [...COLOURS.keys()].toSorted((first, second) => second.length - first.length).join('|');
const RECOLOURING = new RegExp(
  '\\b(?:make|turn|paint|colou?r|change|recolou?r|dye|tint|give)\\b' +
    `(?:\\s+(?:the|a|an|its|her|his|their|my))?(?:\\s+colou?rs?\\s+of)?([a-z\\s'-]{0,48}?)\\s+` +
    `(?:(?:to|into|in|be|look|a|an|more|all|the|of|colou?r|shade|bright|dark|deep|light|pale|vivid)\\s+){0,4}(${COLOUR_NAMES})\\b`,
  'g',
);
const DONT = /\b(not|don't|dont|never|without|keep|keeping|instead of|no)\s+(\w+\s+){0,2}$/;
const REMOVAL = /\b(remove|erase|delete|get rid of|take away|cut out|take out|clean up|eliminate)\b/;

interface Found {
  readonly edit: Edit;
  readonly from: number;
  readonly to: number;
}

function findAll(words: string, rules: readonly Rule[]): Found[] {
  return rules.flatMap(({ pattern, edit }) =>
    [...words.matchAll(pattern)]
      .filter((match) => !DONT.test(words.slice(0, match.index)))
      .map((match) => ({ edit: edit(match), from: match.index, to: match.index + match[0].length })),
  );
}

/** The other colour of `make the red car blue` and of `change the car from red to blue`: its own comes first. */
const TO_COLOUR = new RegExp(
  `^(\\s+[a-z'-]+(?:\\s+[a-z'-]+){0,2}?)??\\s+(?:(?:to|into|in|be|look|a|an|more|all|the|of|bright|dark|deep|light|pale|vivid)\\s+){0,4}(${COLOUR_NAMES})\\b`,
);
/** Text after a colour that ends a request: no thing follows that has the colour. */
const ENDING = /^\s*($|[,.;:!)]|(?:and|but|with|while|then|please|as|like|instead|in|on|at|all|everywhere|tones?)\b)/;

/** `make the red car blue`, `the sky purple`: the target, and its new colour. */
function findRecolourings(words: string): Found[] {
  return [...words.matchAll(RECOLOURING)].flatMap((match) => {
    const [whole, before = '', name = ''] = match;
    const named = before.trim();
    const to = match.index + whole.length;
    const after = words.slice(to);
    // `black and white` and `golden hour` are not colours of a thing.
    if (/^\s*(and white\b|hour|light)/.test(after)) return [];
    const isOfThing = named === '' || /\bfrom$/.test(named);
    const next = isOfThing ? TO_COLOUR.exec(after) : null;
    if (isOfThing && next === null && !ENDING.test(after)) return [];
    const source = next === null ? named.split(/\s+/).find((word) => COLOURS.has(word)) : name;
    const code = COLOURS.get(next?.[2] ?? name);
    if (code === undefined) return [];
    const target = `${named.replace(/\s*\bfrom$/, '')}${next?.[1] ?? ''}`.trim();
    const edit: Edit = {
      kind: 'recolour',
      target,
      colour: hex(code),
      ...(source === undefined ? {} : { from: hex(COLOURS.get(source) ?? '#000000') }),
    };
    return [{ edit, from: match.index, to: to + (next?.[0].length ?? 0) }];
  });
}

/** Things that can be drawn into an image although they are not objects that stand somewhere. */
const DRAWABLE = new Set<Thing>([
  'sun',
  'moon',
  'crescent',
  'planet',
  'tree',
  'pine',
  'palm',
  'blossom',
  'cactus',
  'flower',
]);

/** `add a boat and two birds`: only if some of it can be drawn. */
function findAdditions(words: string): Found[] {
  return [...words.matchAll(/\b(?:add|include|insert|draw|paint in|put in)\b([^.;]*)/g)].flatMap((match) => {
    const { mentions } = readPrompt(match[1] ?? '');
    const isDrawable = mentions.some(({ thing }) => SUBJECTS[thing] !== undefined || DRAWABLE.has(thing));
    if (!isDrawable || DONT.test(words.slice(0, match.index))) return [];
    return [{ edit: { kind: 'add', words: match[1] ?? '' }, from: match.index, to: match.index + 3 }];
  });
}

/** Not a style here: for an input image these words describe light and size. */
const NO_STYLE = new Set([
  'soft',
  'flat',
  'simple',
  'film',
  'faded',
  'glowing',
  'painting',
  'drawing',
  'vintage',
  'sepia',
]);
const OTHER_MEANINGS = new Set([
  'black-and-white',
  'monochrome',
  'grayscale',
  'greyscale',
  'retro',
  'nostalgic',
  'antique',
]);

function findStyles(words: string): Found[] {
  const found: Found[] = [];
  for (const [word, style] of STYLES) {
    if (NO_STYLE.has(word) || OTHER_MEANINGS.has(word)) continue;
    const pattern = new RegExp(`\\b${word.replaceAll('-', '[ -]')}(?:s|ed|y)?\\b`, 'g');
    for (const match of words.matchAll(pattern)) {
      if (DONT.test(words.slice(0, match.index))) continue;
      found.push({ edit: { kind: 'style', style }, from: match.index, to: match.index + match[0].length });
    }
  }
  return found;
}

/** One edit per kind and name, in their order; of two that overlap, the longer phrase. */
function inOrder(found: readonly Found[]): Edit[] {
  const kept: Found[] = [];
  for (const candidate of found.toSorted((one, other) => other.to - other.from - (one.to - one.from))) {
    const overlaps = kept.some(({ from, to }) => candidate.from < to && from < candidate.to);
    const isTwin = kept.some(({ edit }) => JSON.stringify(edit) === JSON.stringify(candidate.edit));
    if (!overlaps && !isTwin) kept.push(candidate);
  }
  return kept.toSorted((one, other) => one.from - other.from).map(({ edit }) => edit);
}

function letteringPosition(words: string): 'top' | 'middle' | 'bottom' {
  if (/\b(bottom|below|caption|foot|subtitle)\b/.test(words)) return 'bottom';
  return /\b(middle|centre|center|across|centred|centered)\b/.test(words) ? 'middle' : 'top';
}

/** Reads the edits that a prompt requests. */
export function planEdits(prompt: string): EditPlan {
  const reading = readPrompt(prompt);
  const words = reading.scenery.toLowerCase().replace(/[’]/g, "'");
  const framing = inOrder(findAll(words, FRAMING_RULES));
  const changes = inOrder([
    ...findAll(words, SCENE_RULES),
    ...findAll(words, TONE_RULES),
    ...findRecolourings(words),
    ...findAdditions(words),
    ...findStyles(words),
  ]);
  return {
    framing,
    changes,
    lettering: REMOVAL.test(words) && /\b(text|letter|word|caption|watermark)/.test(words) ? [] : reading.quotations,
    letteringPosition: letteringPosition(words),
    reading,
    words,
  };
}
