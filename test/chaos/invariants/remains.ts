/** What must not remain, and addresses that no process may have connected to. */
import type { Invariant } from '../evidence.ts';

export const noOrphans: Invariant = {
  name: 'no orphans: files, rows, workflows, counters',
  check: ({ leftovers, accounts }) => [
    ...leftovers.map((detail) => ({ subject: 'left behind', detail })),
    ...[...accounts].flatMap(([name, { account }]) => {
      const { runningTasks, queuedTasks, textStreams } = account.usage;
      if (runningTasks + queuedTasks + textStreams === 0) return [];
      return [{ subject: name, detail: `${runningTasks} running, ${queuedTasks} queued, ${textStreams} text streams` }];
    }),
  ],
};

export const noForbiddenConnection: Invariant = {
  name: 'no outgoing connection outside the allowed set',
  check({ connections, allowedAddresses, receivers }) {
    const allowed = new Set(allowedAddresses);
    const others = connections.filter((address) => !allowed.has(address));
    const forbidden = receivers.filter(({ kind }) => kind === 'forbidden').length;
    return [
      ...others.map((subject) => ({ subject, detail: 'a process of ours connected to it' })),
      ...(forbidden === 0 ? [] : [{ subject: 'the forbidden address', detail: `${forbidden} connections came` }]),
    ];
  },
};
