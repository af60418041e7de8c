/** Forty results of one account that come at 8 kB/s (docs/0038): how long the others' tasks take meanwhile. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createTask } from '../clients/create-task.ts';
import { readLedger } from '../ledger-file.ts';
import type { ProviderLine } from '../provider/ledger.ts';
import { isTelling, openProbes, toldOf } from './probes.ts';
import { attemptOf, wishOf } from './trial.ts';
import type { TrialResult, TrialRoom } from './trial.ts';

const FILES = 40;
const BYTES_PER_SECOND = 8_000;
/** That so many are fetched is enough to begin with. */
const FETCHED = 8;
const FETCHED_WITHIN_MS = 60_000;
const LOOK_MS = 300;
/** Not much less than one of the files takes. */
const PROBED_MS = 12_000;

export async function slowArchives(room: TrialRoom, name: string): Promise<TrialResult> {
  const { world } = room;
  const probe = await openProbes(room, name);
  const owner = await room.openAccount(`${name}-owner`);
  const [apiUrl = ''] = world.apiUrls;
  const before = await probe(PROBED_MS, apiUrl);
  await Promise.all(
    Array.from({ length: FILES }, (_, place) =>
      createTask(
        attemptOf(room, owner),
        wishOf(owner.name, place, 'chaos/keyed', `[drip-file ${BYTES_PER_SECOND}]`),
        0,
        place,
      ),
    ),
  );
  const fetched = async (): Promise<number> => {
    const lines = await readLedger<ProviderLine>(world.files.provider);
    return lines.filter((line) => line.kind === 'file' && line.prompt.startsWith(`marker-${owner.name}-`)).length;
  };
  const deadline = Date.now() + FETCHED_WITHIN_MS;
  while ((await fetched()) < FETCHED && Date.now() < deadline) await sleep(LOOK_MS);
  const begun = await fetched();
  const during = await probe(PROBED_MS, apiUrl);
  const hasFired = begun >= FETCHED && isTelling(before);
  return {
    hasFired,
    evidence: `${begun} files came at ${BYTES_PER_SECOND} bytes a second, ${await fetched()} by the end; others before: ${toldOf(before)}; meanwhile: ${toldOf(during)}`,
    ...(hasFired ? { trial: { kind: 'waiting', what: 'slow archives of another account', before, during } } : {}),
  };
}
