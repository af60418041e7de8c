/** What must hold for tasks as clients see them: none is lost, none runs twice, and none changes its result. */
import { groupBy } from '../grouped.ts';
import { ONCE_MORE } from '../clients/once-more.ts';
import type { Evidence, Invariant } from '../evidence.ts';
import { mayBeUndone } from '../losses.ts';
import { isAccepted, isTerminal } from '../records.ts';
import type { ClientLine, TaskAnswer } from '../records.ts';

const ORDER = ['queued', 'handling', 'archiving', 'success', 'fail'];

type Read = ClientLine & { readonly kind: 'read'; readonly task: TaskAnswer };

function readsOf({ clients }: Evidence): readonly Read[] {
  return clients.filter((line): line is Read => line.kind === 'read' && line.task !== undefined);
}

/** The final state of every task as the API returns it. */
export function finalTasks({ accounts }: Evidence): ReadonlyMap<string, TaskAnswer> {
  return new Map([...accounts.values()].flatMap(({ tasks }) => tasks.map((task) => [task.taskId, task] as const)));
}

export const everyTaskEnds: Invariant = {
  name: 'every accepted task ends in success or fail within the bound',
  check(evidence) {
    const finals = finalTasks(evidence);
    const accepted = new Set(evidence.clients.filter(isAccepted).map(({ taskId }) => taskId));
    for (const taskId of finals.keys()) accepted.add(taskId);
    return [...accepted].flatMap((taskId) => {
      const task = finals.get(taskId);
      if (task === undefined)
        return mayStayGone(taskId, evidence)
          ? []
          : [{ subject: taskId, detail: 'it was accepted, and no one knows it any more' }];
      return isTerminal(task.status) ? [] : [{ subject: taskId, detail: `it is still ${task.status}` }];
    });
  },
};

/** Lost with a commit, and its client, which tried again, could no longer pay for it. */
export function mayStayGone(taskId: string, { clients, losses }: Evidence): boolean {
  const accepted = clients.filter((line) => isAccepted(line) && line.taskId === taskId);
  const last = accepted.at(-1);
  if (last?.kind !== 'create' || !accepted.every((line) => mayBeUndone(line, losses))) return false;
  return clients.some(
    (line) =>
      line.kind === 'create' &&
      line.marker === last.marker &&
      line.begun > last.ended &&
      line.outcome.kind === 'answer' &&
      line.outcome.status === 402,
  );
}

/**
 * What may never change in a terminal answer: everything but URLs, the callback's state and where outputs are stored.
 */
export function terminalFacts(task: TaskAnswer): string {
  const outputs = [...(task.output ?? []).map(({ id }) => id), ...(task.outputGone ?? []).map(({ id }) => id)];
  const { status, model, created, completed, error, billing } = task;
  return JSON.stringify({ status, model, created, completed, error, billing, outputs: outputs.toSorted() });
}

export const terminalAnswersStay: Invariant = {
  name: 'a terminal answer never changes',
  check(evidence) {
    const finals = finalTasks(evidence);
    return readsOf(evidence).flatMap((line) => {
      const { task, taskId, begun } = line;
      const final = finals.get(taskId);
      if (!isTerminal(task.status) || final === undefined || mayBeUndone(line, evidence.losses)) return [];
      const [then, now] = [terminalFacts(task), terminalFacts(final)];
      return then === now ? [] : [{ subject: taskId, detail: `read at ${begun}: ${then}; at last: ${now}` }];
    });
  },
};

export const statusesMoveForward: Invariant = {
  name: 'observed statuses only move forward',
  check(evidence) {
    const byTask = groupBy(readsOf(evidence), ({ taskId }) => taskId);
    return [...byTask].flatMap(([taskId, reads]) =>
      reads.flatMap((later) => {
        // Only a read that was answered before this one was sent is earlier.
        const earlier = reads.filter(
          (each) => each.ended < later.begun && !mayBeUndone(each, evidence.losses, later.ended),
        );
        const back = earlier.find(({ task }) => rank(task.status) > rank(later.task.status));
        if (back === undefined) return [];
        return [
          { subject: taskId, detail: `${back.task.status} at ${back.ended}, ${later.task.status} at ${later.begun}` },
        ];
      }),
    );
  },
};

function rank(status: string): number {
  return status === 'fail' ? ORDER.indexOf('success') : ORDER.indexOf(status);
}

export const oneTaskPerKey: Invariant = {
  name: 'one task per account and key',
  check(evidence) {
    const ids = new Map<string, Set<string>>();
    const add = (marker: string, taskId: string): void => {
      ids.set(marker, (ids.get(marker) ?? new Set()).add(taskId));
    };
    for (const line of evidence.clients) if (isAccepted(line)) add(line.marker, line.taskId);
    for (const task of finalTasks(evidence).values()) add(task.metadata?.['marker'] ?? 'no marker', task.taskId);
    return [...ids].flatMap(([marker, found]) =>
      found.size === 1 ? [] : [{ subject: marker, detail: `${found.size} tasks: ${[...found].join(', ')}` }],
    );
  },
};

export const oneSubmitChain: Invariant = {
  name: 'one provider submit chain per account and key',
  check(evidence) {
    const markers = new Map<string, { jobs: Set<string>; keys: Set<string> }>();
    for (const line of evidence.provider) {
      if (line.kind !== 'submit') continue;
      const marker = /^marker-[\w-]+/.exec(line.prompt ?? '')?.[0] ?? line.prompt ?? '';
      const found = markers.get(marker) ?? { jobs: new Set(), keys: new Set() };
      markers.set(marker, found);
      found.jobs.add(line.jobId ?? '');
      if (line.idempotencyKey !== undefined) found.keys.add(line.idempotencyKey);
    }
    return [...markers].flatMap(([marker, { jobs, keys }]) =>
      jobs.size > 1 || keys.size > 1
        ? [
            {
              subject: marker,
              detail: `jobs ${[...jobs].join(', ')}; idempotency keys ${[...keys].join(', ') || 'none'}`,
            },
          ]
        : [],
    );
  },
};

export const servesAgain: Invariant = {
  name: 'when all is healed, what is asked for succeeds',
  check(evidence) {
    const finals = finalTasks(evidence);
    return evidence.clients.flatMap((line) => {
      if (line.kind !== 'create' || !line.marker.startsWith(ONCE_MORE)) return [];
      const task = line.taskId === undefined ? undefined : finals.get(line.taskId);
      if (task?.status === 'success') return [];
      const became = task === undefined ? JSON.stringify(line.outcome) : `${task.status} ${task.error?.reason ?? ''}`;
      return [{ subject: line.taskId ?? line.marker, detail: `a plain task of ${line.model}: ${became}` }];
    });
  },
};
