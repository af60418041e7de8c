/** The provider and the receivers, which respond in arbitrary ways for a while. */
import { readLedger } from '../ledger-file.ts';
import type { ProviderLine } from '../provider/ledger.ts';
import type { ReceiverLine } from '../receivers/log.ts';
import type { World } from '../world/world.ts';
import { counted, sleepUntilMet } from './fault-evidence.ts';
import type { FaultEvidence } from './fault-evidence.ts';

/** One of their modes, and for how long. */
interface Misbehaviour {
  readonly target: string;
  readonly forMs: number;
}

export async function misbehavingProvider(world: World, fault: Misbehaviour): Promise<FaultEvidence> {
  const since = Date.now();
  const count = async (): Promise<number> => {
    const lines = await readLedger<ProviderLine>(world.files.provider);
    return lines.filter((line) => line.kind === 'misbehaved' && line.at >= since).length;
  };
  await inMode(world, 'provider', fault, async () => (await count()) > 0);
  return counted(await count(), 'requests met it');
}

export async function misbehavingReceivers(world: World, fault: Misbehaviour): Promise<FaultEvidence> {
  const since = Date.now();
  const count = async (): Promise<number> => {
    const lines = await readLedger<ReceiverLine>(world.files.receivers);
    return lines.filter((line) => line.kind === 'received' && line.mode === fault.target && line.at >= since).length;
  };
  await inMode(world, 'receivers', fault, async () => (await count()) > 0);
  return counted(await count(), 'callbacks met it');
}

async function inMode(
  world: World,
  name: 'provider' | 'receivers',
  { target, forMs }: Misbehaviour,
  isMet: () => Promise<boolean>,
): Promise<void> {
  world.part(name).send({ mode: target });
  await sleepUntilMet(forMs, isMet);
  world.part(name).send({ mode: 'normal' });
}
