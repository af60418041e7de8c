/** What must hold while a single fault is injected. */
import type { Invariant } from '../evidence.ts';
import { median } from '../trials/probes.ts';
import { PROBED_ACTIONS } from '../trials/trial.ts';
import { finalTasks } from './tasks.ts';

/**
 * Compared with the time that the others took just before, on the same machine: more than chance, and less than the
 * fault lasts.
 */
const SLOWER = 3;
const GRANTED_MS = 1_000;
/** The share of the previous throughput that must remain, if the machine is too slow to measure tasks one by one. */
const LEAST_SHARE = 1 / 4;

export const noAccountWaitsForAnother: Invariant = {
  name: 'no account waits for another: not for a stopped process, not for slow archives',
  check: ({ trials }) =>
    trials.flatMap((trial) => {
      if (trial.kind !== 'waiting') return [];
      const { what, before, during } = trial;
      return PROBED_ACTIONS.flatMap((action) => {
        const [was, is] = [median(before.took[action]), median(during.took[action])];
        const [hadDone, hasDone] = [before.done[action] / before.ms, during.done[action] / during.ms];
        if (is <= was * SLOWER + GRANTED_MS && hasDone >= hadDone * LEAST_SHARE) return [];
        const detail = `${action}: ${before.done[action]} done, median ${was} ms before; ${during.done[action]} done, median ${is} ms meanwhile`;
        return [{ subject: what, detail }];
      });
    }),
};

export const deploysLoseNothing: Invariant = {
  name: 'a deploy loses no generation that was paid for',
  check(evidence) {
    const finals = finalTasks(evidence);
    return evidence.trials.flatMap((trial) =>
      trial.kind === 'deploy'
        ? trial.taskIds
            .filter((taskId) => finals.get(taskId)?.error?.reason === 'outcome_unknown')
            .map((subject) => ({ subject, detail: 'no one knows what became of it' }))
        : [],
    );
  },
};

export const eachItsOwnTasks: Invariant = {
  name: 'of two installations in one namespace each does its own tasks, and only those',
  check: ({ trials }) =>
    trials.flatMap((trial) =>
      trial.kind === 'neighbours'
        ? trial.tasks.flatMap(({ marker, isOurs, status, askedByOurs }) => {
            const problems = askedByOurs.some((byOurs) => byOurs !== isOurs) ? ['the other asked for it'] : [];
            if (status !== 'success') problems.push(`it is ${status}`);
            return problems.map((detail) => ({ subject: marker, detail }));
          })
        : [],
    ),
};
