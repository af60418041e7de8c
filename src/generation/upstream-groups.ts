/**
 * The upstreams of a route in groups that are tried one after the other. The members of a group are equal: a task goes
 * to another one if the first choice is at its concurrency limit, and waits for whichever has a slot first. Between
 * groups a task moves on only after a definite rejection.
 */
import type { TaskRoute } from './task-route.ts';

/** A balanced route is one group and what only takes over: a weight of 0. In order, each pool is a group. */
export function groupsOf(routes: readonly TaskRoute[]): readonly (readonly TaskRoute[])[] {
  const balanced = routes.filter(({ balance, weight }) => balance !== 'ordered' && weight > 0);
  const groups: TaskRoute[][] = balanced.length === 0 ? [] : [balanced];
  for (const route of routes) {
    if (balanced.includes(route)) continue;
    const last = groups.at(-1);
    const isInLast = route.pool !== undefined && last !== balanced && last?.[0]?.pool === route.pool;
    if (isInLast) last.push(route);
    else groups.push([route]);
  }
  return groups;
}
