/** Connections between processes that are slow, cut or full. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LinkName } from '../schedule.ts';
import type { Link, LinkState, LinkTally } from '../world/proxy.ts';
import type { World } from '../world/world.ts';
import { sleepUntilMet } from './fault-evidence.ts';
import type { FaultEvidence } from './fault-evidence.ts';

export async function badLinks(
  world: World,
  names: readonly LinkName[],
  state: LinkState,
  forMs: number,
): Promise<FaultEvidence> {
  const links = names.flatMap((name) => world.links(name));
  if (links.length === 0) return { hasFired: false, evidence: world.whyNoS3 ?? 'there is no such link' };
  const before = links.map((link) => link.set(state));
  const isMet = (): boolean => before.some(hasMet) || links.some(({ met }) => hasMet(met));
  await (state === 'refuse' ? sleep(forMs) : sleepUntilMet(forMs, isMet));
  // A refused connection is seen only by the process that tried it.
  const rejected = state === 'refuse' ? await countRejected(links) : 0;
  const tallies = [...before, ...links.map((link) => link.set('pass'))];
  const connections = tallies.reduce((sum, tally) => sum + tally.connections, 0);
  const bytes = tallies.reduce((sum, tally) => sum + tally.bytes, 0);
  const summary = `${connections} connections and ${bytes} bytes met it`;
  if (state !== 'refuse') return { hasFired: connections + bytes > 0, evidence: summary };
  return { hasFired: rejected === links.length, evidence: `${summary}, and ${rejected} of our own were refused` };
}

function hasMet({ connections, bytes }: LinkTally): boolean {
  return connections + bytes > 0;
}

async function countRejected(links: readonly Link[]): Promise<number> {
  const outcomes = await Promise.all(
    links.map(async ({ port }) => {
      const socket = connect(port, '127.0.0.1');
      const isRejected = await once(socket, 'connect').then(
        () => false,
        () => true,
      );
      socket.destroy();
      return isRejected;
    }),
  );
  return outcomes.filter(Boolean).length;
}
