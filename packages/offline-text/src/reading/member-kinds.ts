/** What members of an object usually hold, by their names: a city follows "in", a query is the text to search for. */
import { sentencesOf, wordsOfName } from './words.ts';

const PLACES = ['in', 'at', 'near', 'for', 'of', 'around'];
const PREPOSITIONS = new Map<string, readonly string[]>([
  ...'city location place country town region'.split(' ').map((name) => [name, PLACES] as const),
  ...'restaurant venue hotel'.split(' ').map((name) => [name, ['at', 'in']] as const),
  ...'from origin departure source'.split(' ').map((name) => [name, ['from']] as const),
  ...'to destination arrival'.split(' ').map((name) => [name, ['to']] as const),
  ['recipient', ['to', 'for']],
]);

const FREE_TEXT = new Set(
  `query question prompt input message content body topic text search term terms keywords expression description task
  instruction instructions subject request`.split(/\s+/),
);
const LOOKING_FOR =
  /\b(?:search(?:es)?(?: the web| online)? for|look(?:ing)? (?:up|for)|find(?: out)?(?: about)?|google|about)\s(.{2,300})/i;
const QUOTED_MESSAGE = /\b(?:saying|says?|that reads|with the (?:text|message|content))\b:?\s(.{2,2000})/is;
const EXPRESSION = /[-(\d][-+*/^().\d ,]{2,100}\d\)?/;

/** The prepositions that can precede such a member's value. */
export function prepositionsFor(name: string): readonly string[] {
  return wordsOfName(name).flatMap((word) => PREPOSITIONS.get(word) ?? []);
}

/** Whether a member holds free text, and not one thing. */
export function isFreeText(name: string): boolean {
  return wordsOfName(name).some((word) => FREE_TEXT.has(word));
}

/** What a prompt says is to be searched for, sent or calculated; else the prompt itself. */
export function findRequestedText(name: string, text: string): string {
  const found = /expression/i.test(name)
    ? EXPRESSION.exec(text)?.[0]
    : (QUOTED_MESSAGE.exec(text)?.[1] ?? LOOKING_FOR.exec(text)?.[1]);
  const thing = (found === undefined ? text.trim() : (sentencesOf(found)[0] ?? '')).slice(0, 500);
  return thing.replace(/^["“]|[.?!"”]{1,2}$/gu, '');
}
