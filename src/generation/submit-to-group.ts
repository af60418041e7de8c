/**
 * Offers a task to equal upstreams until one accepts it. It tries those that can take it, in the order of the route's
 * balance, and joins queues only if all of them are at their concurrency limit: then those of several members, and the
 * first free slot is its own (docs/decisions/0016).
 */
import type { PoolMember } from '../upstreams/balance.ts';
import type { SubmitResult } from '../../workflows/contracts.ts';
import type { SubmitAttempt } from './attempt.ts';
import { submitToUpstream } from './submit-to-upstream.ts';
import type { Obstacle } from './submit-to-upstream.ts';
import type { TaskRoute } from './task-route.ts';

/** Where the task has a slot, or is in the queue: by upstream, whether it has the slot. */
export type Positions = Map<string, boolean>;

/**
 * The maximum number of queues that a task joins, each of which costs a transaction. Tasks choose them at random, so the
 * queues of a larger pool are about equally long.
 */
const MAX_QUEUES = 8;

export type GroupAnswer =
  | { readonly kind: 'taken'; readonly result: SubmitResult; readonly route: TaskRoute }
  /** The task is in the queues of these members. */
  | { readonly kind: 'queued'; readonly members: readonly TaskRoute[]; readonly waitedMs: number }
  | { readonly kind: 'rejected' };

/** A member of a group, as it is balanced. */
interface Member extends PoolMember {
  readonly route: TaskRoute;
}

/**
 * @param positions of the task at all members; changed here.
 * @param obstacles receives why members did not accept the task. The last one may end the search.
 */
export async function submitToGroup(
  attempt: SubmitAttempt,
  group: readonly TaskRoute[],
  positions: Positions,
  obstacles: Obstacle[],
): Promise<GroupAnswer> {
  const { context, task } = attempt;
  const { gate } = context.upstreams;
  let waitedMs = 0;

  /** One slot is enough: the others wait for the task, which is here now. */
  const releaseOthers = async (stays: TaskRoute): Promise<void> => {
    for (const { upstreamName, gated } of group) {
      if (upstreamName === stays.upstreamName || gated === undefined || !positions.has(upstreamName)) continue;
      await gate.release(gated, task.id);
      positions.delete(upstreamName);
    }
  };
  /** @returns undefined: it is at its limit. */
  const tryMember = async (route: TaskRoute, joins: boolean): Promise<GroupAnswer | undefined> => {
    const answer = await submitToUpstream(attempt, route, { joins, onEntered: () => releaseOthers(route) });
    if ('result' in answer) return { kind: 'taken', result: answer.result, route };
    if (answer.kind === 'full') {
      waitedMs = Math.max(waitedMs, answer.waitedMs);
      return undefined;
    }
    // What it has at a member that accepts nothing for now is another task's.
    if (positions.delete(route.upstreamName) && route.gated !== undefined) await gate.release(route.gated, task.id);
    obstacles.push(answer);
    return { kind: 'rejected' };
  };
  /** @returns the first that let the task in, or accepts nothing for now. */
  const joinQueues = async (
    chosen: readonly Member[],
  ): Promise<{ readonly member: Member; readonly answer: GroupAnswer } | undefined> => {
    for (const member of chosen) {
      const answer = await tryMember(member.route, true);
      if (answer !== undefined) return { member, answer };
      positions.set(member.name, false);
    }
    return undefined;
  };
  const isOver = (): boolean => obstacles.at(-1)?.endsSearch === true;

  const members = group.map((route): Member => {
    const { upstreamName: name, gated, balance, weight } = route;
    return { route, name, concurrency: gated?.concurrency, weight: balance === 'ordered' ? 1 : weight };
  });
  const { candidates, full } = await gate.sort(members, task.id, group[0]?.balance ?? 'ordered');
  const hasSlot = ({ name }: Member): boolean => positions.get(name) === true;
  const own = members.filter(hasSlot);
  const queues: Member[] = full.filter((member) => !hasSlot(member));
  for (const member of [...own, ...candidates.filter((each) => !hasSlot(each))]) {
    const answer = await tryMember(member.route, false);
    if (answer?.kind === 'taken' || isOver()) return answer ?? { kind: 'rejected' };
    if (answer === undefined) queues.push(member);
  }

  // Who joins a queue may be admitted at once and then rejected, having left the other queues.
  while (queues.length > 0) {
    const chosen = chooseQueues(queues, positions);
    const rejected = await joinQueues(chosen);
    if (rejected === undefined) return { kind: 'queued', members: chosen.map(({ route }) => route), waitedMs };
    if (rejected.answer.kind === 'taken' || isOver()) return rejected.answer;
    queues.splice(queues.indexOf(rejected.member), 1);
  }
  return { kind: 'rejected' };
}

/** Those in which the task is already come first. */
function chooseQueues(queues: readonly Member[], positions: Positions): readonly Member[] {
  return queues
    .map((member) => ({ member, lot: positions.has(member.name) ? -1 : Math.random() }))
    .toSorted((a, b) => a.lot - b.lot)
    .slice(0, MAX_QUEUES)
    .map(({ member }) => member);
}
