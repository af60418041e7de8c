/**
 * Where a cliff stands, and that a lighthouse stands at the sea: which water a prompt means that names neither.
 */
import type { Excluded } from './absence.ts';
import type { Thing } from './lexicon.ts';
import type { Mention } from './prompt-reading.ts';

const WATERS: readonly Thing[] = ['sea', 'lake', 'beach', 'island', 'boat', 'rowboat', 'ship', 'whale', 'dolphin'];
/** Land in which a cliff is a wall of rock, and under it no water. */
const INLAND: readonly Thing[] = ['mountain', 'volcano', 'river', 'waterfall', 'forest', 'desert', 'canyon', 'city'];
/** Where a lighthouse has no sea, because the prompt says where else it is. */
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

/** The mentions with a mountain for the cliff: for what is inland, or has no view of a coast. */
export function withoutCliff(mentions: ReadonlyMap<Thing, Mention>): ReadonlyMap<Thing, Mention> {
  const cliff = mentions.get('cliff');
  if (cliff === undefined) return mentions;
  const others = new Map([...mentions].filter(([thing]) => thing !== 'cliff'));
  return others.has('mountain') ? others : others.set('mountain', { ...cliff, thing: 'mountain' });
}
