/** Tasks that keep coming, for as long as something lasts. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createOne } from '../kill/workload.ts';
import type { Accepted } from '../kill/workload.ts';
import type { CallbackReceiver } from '../support/callback-receiver-process.ts';
import type { Installation } from './installation.ts';

/** Between two creates: the machine has other work than these. */
const PAUSE_MS = 500;

export interface Flow {
  readonly accepted: readonly Accepted[];
  /** After the last create was answered. */
  stop(): Promise<readonly Accepted[]>;
}

export function startFlow({ account }: Installation, receiver: CallbackReceiver, round: string): Flow {
  const accepted: Accepted[] = [];
  let isOver = false;
  const flowing = (async () => {
    while (!isOver) {
      accepted.push(await createOne(account, receiver, round, accepted.length));
      await sleep(PAUSE_MS);
    }
  })();
  // Whoever stops it sees why it failed.
  flowing.catch(() => undefined);
  return {
    accepted,
    async stop() {
      isOver = true;
      await flowing;
      return accepted;
    },
  };
}
