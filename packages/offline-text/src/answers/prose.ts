/**
 * Sentences about the topic of a prompt, for prompts that no other skill answers: its own words in sentences that fit
 * any. How many depends on the request; which ones is random.
 */
import type { Random } from '@darkroom/seeded-random/random';
import type { Verbosity } from '../request.ts';
import type { RequestedForm } from '../reading/requested-form.ts';
import { capitalised, meaningfulWords } from '../reading/words.ts';

type Words = readonly [string, ...string[]];

const OPENINGS: Words = [
  'There is much to say about {topic}.',
  'To speak of {topic} is to speak of {a} and {b}.',
  'Few things are as familiar as {topic}.',
  'Where {topic} begins is not easy to say.',
  'This is about {topic}.',
];

const SENTENCES: Words = [
  '{A} comes first, and {b} follows from it.',
  'Whoever looks at {a} for long sees {b} as well.',
  'It was {adjective} once, and in part it still is.',
  'Seen from afar, {a} seems {adjective}.',
  'Nothing about {a} is as {adjective} as it looks.',
  'Some compare it with a {noun}, others with a {adjective} {noun}.',
  'Between {a} and {b} lies a {adjective} {noun}.',
  'In the end {topic} remains {adjective}.',
  'A {noun} changes slowly, and so does {a}.',
  'That is why {b} matters to {a}.',
  'One may begin with {b} and arrive at {a}.',
  'Every {noun} has its own view of {topic}.',
];

const ADJECTIVES: Words = 'amber quiet bright distant gentle hollow northern patient silver steady wide winding'.split(
  ' ',
) as [string, ...string[]];
const NOUNS: Words = 'harbour lantern meadow orchard river signal garden mountain window bridge morning shore'.split(
  ' ',
) as [string, ...string[]];

const LONG =
  /\b(?:essay|story|article|report|novel|chapter|blog post|speech|letter|poem|at length|in detail|detailed)\b/i;
const VERY_LONG = /\b(?:long|lengthy|very detailed|at length|as much as)\b/i;
const NAMING = /\b(?:invent|suggest|name|think of|come up with|give me|pick|choose)\b/i;
const FACTOR: Readonly<Record<Verbosity, number>> = { low: 0.5, medium: 1, high: 2 };
const MAX_SENTENCES = 4000;

/** The topic and its form. */
export interface Writing {
  readonly excerpt: string;
  readonly form: RequestedForm;
  readonly verbosity: Verbosity;
  readonly random: Random;
}

export function prose({ excerpt, form, verbosity, random }: Writing): string {
  const words = meaningfulWords(excerpt);
  if (NAMING.test(excerpt) && form.words !== undefined && form.words < 10) return inventedName(form.words, random);
  const topic =
    /\b(?:about|on|of) ((?:(?:the|a|an) )?[\p{L}\p{N} '’-]{2,60})/iu.exec(excerpt)?.[1]?.trim() ??
    words.at(-1) ??
    'this';
  const count = Math.min(sentenceCount(excerpt, form, verbosity), MAX_SENTENCES);
  const sentences = Array.from({ length: count }, (_, index) => {
    const [a, b] = [pick(words, random) ?? topic, pick(words, random) ?? topic];
    const sentence = index === 0 ? random.pick(OPENINGS) : random.pick(SENTENCES);
    return capitalised(
      sentence
        .replaceAll('{topic}', () => topic)
        .replaceAll('{a}', () => a)
        .replaceAll('{A}', () => capitalised(a))
        .replaceAll('{b}', () => b)
        .replaceAll('{adjective}', () => random.pick(ADJECTIVES))
        .replaceAll('{noun}', () => random.pick(NOUNS)),
    );
  });
  return sentences.map((sentence, index) => (index === 0 ? '' : index % 6 === 0 ? '\n\n' : ' ') + sentence).join('');
}

function sentenceCount(excerpt: string, form: RequestedForm, verbosity: Verbosity): number {
  if (form.sentences !== undefined) return Math.max(form.sentences, 1);
  if (form.words !== undefined) return Math.ceil(form.words / 5);
  const count = VERY_LONG.test(excerpt) ? 40 : LONG.test(excerpt) ? 16 : 3;
  return Math.max(1, Math.round(count * FACTOR[verbosity]));
}

function pick(words: readonly string[], random: Random): string | undefined {
  return words[Math.floor(random.next() * words.length)];
}

/** A name with this many words: "Silver Harbour". */
export function inventedName(words: number, random: Random): string {
  const adjectives = Array.from({ length: Math.max(words, 1) - 1 }, () => random.pick(ADJECTIVES));
  return [...adjectives, random.pick(NOUNS)].map(capitalised).join(' ');
}
