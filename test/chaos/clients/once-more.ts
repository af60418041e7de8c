/**
 * What a client does when all is healed and quiet: one plain task of each model, which nothing hinders any more. It
 * is not enough that everything ended if nothing new starts.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { isTerminal } from '../records.ts';
import type { ClientLine, TaskAnswer } from '../records.ts';
import { TASK_MODELS } from '../world/models.ts';
import { ask, statusOf } from './ask.ts';

/** The prefix of the marker of every such task. */
export const ONCE_MORE = 'marker-once-more-';
const WITHIN_MS = 60_000;
const LOOK_MS = 500;

export interface OnceMore {
  readonly account: string;
  readonly apiKey: string;
  readonly apiUrls: readonly string[];
  readonly record: (line: ClientLine) => void;
}

export async function askOnceMore({ account, apiKey: key, apiUrls, record }: OnceMore): Promise<void> {
  await Promise.all(
    TASK_MODELS.map(async (model, index) => {
      const api = index % apiUrls.length;
      const tasksUrl = `${apiUrls[api]}/v1/tasks`;
      const marker = `${ONCE_MORE}${account}-${index}-`;
      const wish = { account, key: marker, marker, model, prompt: `${marker} a lake`, callbackPath: undefined };
      const body = { model, input: { prompt: wish.prompt }, metadata: { marker } };
      const headers = { 'Idempotency-Key': marker };
      const created = await ask({ method: 'POST', url: tasksUrl, key, headers, body });
      const taskId = statusOf(created.outcome) === 200 ? (created.data as { taskId: string }).taskId : undefined;
      const { begun, ended, outcome } = created;
      const taskFields = taskId === undefined ? {} : { taskId };
      record({ kind: 'create', ...wish, attempt: 0, api, begun, ended, outcome, ...taskFields });
      const deadline = Date.now() + WITHIN_MS;
      while (taskId !== undefined && Date.now() < deadline) {
        const answer = await ask({ url: `${tasksUrl}/${taskId}`, key });
        const task = statusOf(answer.outcome) === 200 ? (answer.data as TaskAnswer) : undefined;
        const { begun, ended, outcome } = answer;
        record({ kind: 'read', account, taskId, begun, ended, outcome, ...(task === undefined ? {} : { task }) });
        if (task !== undefined && isTerminal(task.status)) return;
        await sleep(LOOK_MS);
      }
    }),
  );
}
