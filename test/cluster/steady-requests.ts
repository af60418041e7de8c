/** Requests one after the other, without repeating any: what an ordinary client sees while pods are replaced. */
import { setTimeout as delay } from 'node:timers/promises';
import type { ContainerClient } from '../containers/client.ts';

const PAUSE_MS = 50;

export interface SteadyRequests {
  /** Ends them. */
  stop(): Promise<void>;
  count(): number;
  /** What each that failed was answered. */
  failures(): readonly string[];
}

export function watchRequests(client: ContainerClient): SteadyRequests {
  const failures: string[] = [];
  let count = 0;
  let isStopped = false;
  const headers = { authorization: `Bearer ${client.key}` };
  const loop = async (): Promise<void> => {
    while (!isStopped) {
      count++;
      try {
        const { status, text } = await client.send('GET', '/v1/models', { headers });
        if (status !== 200) failures.push(`${status} ${text.slice(0, 300)}`);
      } catch (error) {
        failures.push(String(error));
      }
      await delay(PAUSE_MS);
    }
  };
  const ended = loop();
  return {
    stop: async () => {
      isStopped = true;
      await ended;
    },
    count: () => count,
    failures: () => failures,
  };
}
