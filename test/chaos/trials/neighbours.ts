/**
 * Two installations in one Temporal namespace (docs/decisions/0006), both at work: each does its own tasks, and no
 * other's.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { ask, statusOf } from '../clients/ask.ts';
import { createTask } from '../clients/create-task.ts';
import { readLedger } from '../ledger-file.ts';
import type { ProviderLine } from '../provider/ledger.ts';
import { isTerminal } from '../records.ts';
import type { TaskAnswer } from '../records.ts';
import { TASK_MODELS } from '../world/models.ts';
import { NEIGHBOUR_KEY } from '../world/neighbour.ts';
import { attemptOf, wishOf } from './trial.ts';
import type { TrialResult, TrialRoom } from './trial.ts';

const TASKS = 12;
/** However slow the machine is: what matters is which installation did the work. */
const WITHIN_MS = 300_000;
const LOOK_MS = 500;

export async function neighbours(room: TrialRoom, name: string): Promise<TrialResult> {
  const { world, record } = room;
  const ours = await room.openAccount(name);
  const neighbour = await world.startNeighbour();
  try {
    const installations = [
      { isOurs: true, key: ours.key, attempt: attemptOf(room, ours), owner: name },
      {
        isOurs: false,
        key: neighbour.account.key,
        // Its tasks are not part of the campaign, whose invariants know one installation.
        attempt: { ...attemptOf(room, neighbour.account, [neighbour.apiUrl]), record: () => undefined },
        owner: `${name}-neighbour`,
      },
    ];
    const tasks = await Promise.all(
      installations.flatMap(({ isOurs, key, attempt, owner }) =>
        Array.from({ length: TASKS }, async (_, index) => {
          const wish = wishOf(owner, index, TASK_MODELS[index % TASK_MODELS.length] ?? '', '[slow 1000]');
          const { taskId } = await createTask(attempt, wish, 0, index);
          const deadline = Date.now() + WITHIN_MS;
          let status = taskId === undefined ? 'not accepted' : 'queued';
          while (taskId !== undefined && !isTerminal(status) && Date.now() < deadline) {
            const url = `${attempt.apiUrls[0]}/v1/tasks/${taskId}`;
            const { begun, ended, outcome, data } = await ask({ url, key });
            const task = statusOf(outcome) === 200 ? (data as TaskAnswer) : undefined;
            if (isOurs) {
              const taskFields = task === undefined ? {} : { task };
              record({ kind: 'read', account: owner, taskId, begun, ended, outcome, ...taskFields });
            }
            status = task?.status ?? status;
            await sleep(LOOK_MS);
          }
          return { marker: wish.marker, isOurs, status };
        }),
      ),
    );
    const callers = new Map<string, Set<boolean>>();
    for (const line of await readLedger<ProviderLine>(world.files.provider)) {
      if (line.kind !== 'asked') continue;
      const marker = /^marker-[\w-]+/.exec(line.prompt)?.[0] ?? '';
      callers.set(marker, (callers.get(marker) ?? new Set()).add(!line.authorization.includes(NEIGHBOUR_KEY)));
    }
    const done = tasks.map((task) => ({ ...task, askedByOurs: [...(callers.get(task.marker) ?? [])] }));
    const count = (isOurs: boolean): number =>
      done.filter((task) => task.isOurs === isOurs && task.askedByOurs.length > 0).length;
    return {
      hasFired: count(true) > 0 && count(false) > 0,
      evidence: `the provider was asked for ${count(true)} tasks of this installation and ${count(false)} of the other`,
      trial: { kind: 'neighbours', tasks: done },
    };
  } finally {
    await neighbour.stop();
  }
}
