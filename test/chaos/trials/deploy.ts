/**
 * A deploy while synchronous upstreams, which answer a submit only with its result, are working: the workers are
 * stopped gracefully and started, one after the other, while calls of up to 30 s are under way that must not be
 * repeated.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createTask } from '../clients/create-task.ts';
import { readLedger } from '../ledger-file.ts';
import type { ProviderLine } from '../provider/ledger.ts';
import { SYNCHRONOUS_MODEL } from '../world/models.ts';
import { attemptOf, wishOf } from './trial.ts';
import type { TrialResult, TrialRoom } from './trial.ts';

const WORKERS = ['worker-1', 'worker-2'] as const;
const PACE_MS = 900;
const UNDER_WAY = 4;
const UNDER_WAY_WITHIN_MS = 30_000;
const LOOK_MS = 300;

export async function deploy(room: TrialRoom, name: string, longestMs: number): Promise<TrialResult> {
  const { world } = room;
  const account = await room.openAccount(name);
  const taskIds: string[] = [];
  const over = new AbortController();
  const asking = (async (): Promise<void> => {
    for (let number = 0; !over.signal.aborted; number++) {
      // From a third of the maximum on, each with a different duration.
      const workMs = Math.round(longestMs * (1 / 3 + (2 / 3) * ((number * 0.37) % 1)));
      const wish = wishOf(name, number, SYNCHRONOUS_MODEL, `[slow ${workMs}]`);
      const { taskId } = await createTask(attemptOf(room, account), wish, 0, number);
      if (taskId !== undefined) taskIds.push(taskId);
      await sleep(PACE_MS, undefined, { signal: over.signal }).catch(() => undefined);
    }
  })();
  /** Submits that the provider has not answered yet. */
  const underWay = async (): Promise<number> => {
    const lines = await readLedger<ProviderLine>(world.files.provider);
    const jobs = new Set<string>();
    for (const line of lines) {
      if (line.kind !== 'submit' && line.kind !== 'finished') continue;
      if (line.protocol !== 'openai' || line.prompt?.startsWith(`marker-${name}-`) !== true) continue;
      if (line.kind === 'submit') jobs.add(line.jobId ?? '');
      else jobs.delete(line.jobId ?? '');
    }
    return jobs.size;
  };
  const facts: string[] = [];
  let hasFired = true;
  try {
    for (const worker of WORKERS) {
      const deadline = Date.now() + UNDER_WAY_WITHIN_MS;
      while ((await underWay()) < UNDER_WAY && Date.now() < deadline) await sleep(LOOK_MS);
      const calls = await underWay();
      const begun = Date.now();
      const exit = await world.part(worker).stop();
      facts.push(`${worker} ended with ${exit} after ${Date.now() - begun} ms, ${calls} calls were under way`);
      hasFired &&= calls >= UNDER_WAY;
      await world.part(worker).start();
    }
  } finally {
    over.abort();
    await asking;
  }
  return { hasFired, evidence: facts.join('; '), trial: { kind: 'deploy', taskIds } };
}
