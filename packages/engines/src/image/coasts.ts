/**
 * Cliffs and lighthouses in prompts that name no water: which water is meant.
 */
import type { Excluded } from './absence.ts';
import type { Thing } from './lexicon.ts';
import type { Mention } from './prompt-reading.ts';

const WATERS: readonly Thing[] = ['sea', 'lake', 'beach', 'island', 'boat', 'rowboat', 'ship', 'whale', 'dolphin'];
/** Land where a cliff is a wall of rock with no water below it. */
const INLAND: readonly Thing[] = ['mountain', 'volcano', 'river', 'waterfall', 'forest', 'desert', 'canyon', 'city'];
/** Places where a lighthouse has no sea, because the prompt puts it elsewhere. */
const ELSEWHERE: readonly Thing[] = ['lake', 'river', 'desert', 'canyon', 'galaxy', 'planet', 'coral'];

/** The mentions with the sea that belongs to them; a cliff inland is a mountain. */
export function withCoast(
  mentions: ReadonlyMap<Thing, Mention>,
  absent: ReadonlySet<Excluded>,
): ReadonlyMap<Thing, Mention> {
  const has = (things: readonly Thing[]): boolean => things.some((thing) => mentions.has(thing));
  const cliff = mentions.get('cliff');
  const isDry = absent.has('sea');
  const isLit = mentions.has('lighthouse') && !isDry && !has(ELSEWHERE);
  if (cliff !== undefined && !isLit && !has(WATERS) && (isDry || has(INLAND))) return withoutCliff(mentions);
  if (!isLit && (cliff === undefined || has(WATERS))) return mentions;
  if (mentions.has('sea')) return mentions;
  return new Map(mentions).set('sea', { thing: 'sea', colour: undefined, count: 1, scale: 1 });
}

/** The mentions with a mountain for the cliff: for scenes inland, or without a view of a coast. */
export function withoutCliff(mentions: ReadonlyMap<Thing, Mention>): ReadonlyMap<Thing, Mention> {
  const cliff = mentions.get('cliff');
  if (cliff === undefined) return mentions;
  const others = new Map([...mentions].filter(([thing]) => thing !== 'cliff'));
  return others.has('mountain') ? others : others.set('mountain', { ...cliff, thing: 'mountain' });
}
