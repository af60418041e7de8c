/**
 * Forty results of one account that come at 8 kB/s (docs/decisions/0006): how long the others' tasks take meanwhile.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createTask } from '../clients/create-task.ts';
import { readLedger } from '../ledger-file.ts';
import type { ProviderLine } from '../provider/ledger.ts';
import { isConclusive, openProbes, describePeriod } from './probes.ts';
import { attemptOf, wishOf } from './trial.ts';
import type { TrialResult, TrialRoom } from './trial.ts';

const FILES = 40;
const BYTES_PER_SECOND = 8_000;
/** It is enough to start when this many are being fetched. */
const FETCHED = 8;
const FETCHED_WITHIN_MS = 60_000;
const LOOK_MS = 300;
/**
 * Until the effect of forty submits is over. If other tasks wait for the archives, they never become calm, and are
 * measured then.
 */
const CALM_WITHIN_MS = 8_000;
/** Together with the time before it, less than one of the files takes. */
const PROBED_MS = 12_000;

export async function slowArchives(room: TrialRoom, name: string): Promise<TrialResult> {
  const { world } = room;
  const probes = await openProbes(room, name);
  const owner = await room.openAccount(`${name}-owner`);
  const [apiUrl = ''] = world.apiUrls;
  const before = await probes.measure(PROBED_MS, apiUrl);
  await Promise.all(
    Array.from({ length: FILES }, (_, index) =>
      createTask(
        attemptOf(room, owner),
        wishOf(owner.name, index, 'chaos/keyed', `[drip-file ${BYTES_PER_SECOND}]`),
        0,
        index,
      ),
    ),
  );
  const count = async (kind: 'file' | 'finished'): Promise<number> => {
    const lines = await readLedger<ProviderLine>(world.files.provider);
    return lines.filter((line) => line.kind === kind && line.prompt?.startsWith(`marker-${owner.name}-`) === true)
      .length;
  };
  const deadline = Date.now() + FETCHED_WITHIN_MS;
  // The load of forty submits is not what is measured.
  const isBegun = async (): Promise<boolean> => (await count('finished')) >= FILES && (await count('file')) >= FETCHED;
  while (!(await isBegun()) && Date.now() < deadline) await sleep(LOOK_MS);
  await probes.waitForCalm(CALM_WITHIN_MS);
  const begun = await count('file');
  const during = await probes.measure(PROBED_MS, apiUrl);
  const hasFired = begun >= FETCHED && isConclusive(before, during);
  return {
    hasFired,
    evidence: `${begun} files came at ${BYTES_PER_SECOND} bytes a second, ${await count('file')} by the end; others before: ${describePeriod(before)}; meanwhile: ${describePeriod(during)}`,
    ...(hasFired ? { trial: { kind: 'waiting', what: 'slow archives of another account', before, during } } : {}),
  };
}
