/** Processes that are killed, restarted or stopped for a while. */
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PartName } from '../schedule.ts';
import type { World } from '../world/world.ts';
import type { FaultEvidence } from './fault-evidence.ts';

export async function endAndStart(
  world: World,
  { kind, target, forMs }: { kind: string; target: PartName; forMs: number },
): Promise<FaultEvidence> {
  if (target === 's3' && world.whyNoS3 !== undefined) return { hasFired: false, evidence: world.whyNoS3 };
  const part = world.part(target);
  const exit = await (kind === 'kill' ? part.kill() : part.stop());
  if (kind === 'kill') await sleep(forMs);
  const begun = Date.now();
  await part.start();
  return {
    hasFired: exit !== 'was down',
    evidence: `ended with ${exit}, ready ${Date.now() - begun} ms after its start`,
  };
}

export async function pause(
  world: World,
  { target, forMs }: { target: PartName; forMs: number },
): Promise<FaultEvidence> {
  if (target === 's3' && world.whyNoS3 !== undefined) return { hasFired: false, evidence: world.whyNoS3 };
  const part = world.part(target);
  const { pid } = part;
  part.signal('SIGSTOP');
  await sleep(forMs / 2);
  const state =
    pid === undefined ? '' : (/^State:\s+(\S)/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '');
  await sleep(forMs / 2);
  part.signal('SIGCONT');
  return { hasFired: state === 'T', evidence: `its state in the middle of it: ${state || 'none'}` };
}
