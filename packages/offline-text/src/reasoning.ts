/**
 * The reasoning of the offline text model before it answers, if it was requested: how it reads the prompt, in
 * sentences that are never an answer themselves. More effort gives more of them.
 */
import type { Random } from '@darkroom/seeded-random/random';
import type { ReasoningEffort } from './request.ts';
import type { Conversation } from './reading/conversation.ts';
import { meaningfulWords } from './reading/words.ts';

const SENTENCES: Readonly<Record<ReasoningEffort, number>> = {
  none: 0,
  minimal: 1,
  low: 4,
  medium: 8,
  high: 16,
  xhigh: 32,
};

type Lines = readonly [string, ...string[]];

const CONSIDERATIONS: Lines = [
  'What was said before may already hold it, so the earlier turns are worth a look.',
  'The word "{word}" decides what kind of answer fits.',
  'If "{word}" were left out, the request would be a different one.',
  'The form matters as much as the matter: length, language and layout as they were wished for.',
  'Another reading of "{word}" is possible, but the plain one comes first.',
  'Nothing has to be guessed that the conversation does not say.',
  'It should be checked once more against what was asked about "{word}".',
  'A shorter way of putting it would lose nothing.',
];

/** @param effort undefined: this model does not reason unless that is requested. */
export function reasoningOf(
  { excerpt, earlier, results }: Conversation,
  effort: ReasoningEffort | undefined,
  random: Random,
): string {
  const count = SENTENCES[effort ?? 'none'];
  if (count === 0) return '';
  const words = meaningfulWords(excerpt).slice(0, 12);
  const subject = words.length === 0 ? 'nothing in particular' : words.slice(0, 5).join(', ');
  const opening = `The request turns on these words: ${subject}.`;
  const scope = `There are ${earlier.length} earlier messages and ${results.length} results to take into account.`;
  const further = Array.from({ length: count }, () => {
    const word = words[Math.floor(random.next() * words.length)] ?? 'request';
    return random.pick(CONSIDERATIONS).replaceAll('{word}', () => word);
  });
  return [opening, scope, ...further].slice(0, count).join(' ');
}
