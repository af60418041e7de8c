/** One attempt to create a task, the same for each client. */
import type { ClientLine, Wish } from '../records.ts';
import { ask, statusOf } from './ask.ts';

export interface CreateAttempt {
  readonly apiUrls: readonly string[];
  readonly apiKey: string;
  readonly receiverUrl: string;
  readonly record: (line: ClientLine) => void;
}

/** @returns the status, 0 if no complete response came, and the task's id if it was accepted. */
export async function createTask(
  { apiUrls, apiKey, receiverUrl, record }: CreateAttempt,
  wish: Wish,
  attempt: number,
  index: number,
): Promise<{ readonly status: number; readonly taskId: string | undefined }> {
  const api = index % apiUrls.length;
  const answer = await ask({
    method: 'POST',
    url: `${apiUrls[api]}/v1/tasks`,
    key: apiKey,
    headers: { 'Idempotency-Key': wish.key },
    body: {
      model: wish.model,
      input: { prompt: wish.prompt },
      metadata: { marker: wish.marker },
      ...(wish.callbackPath === undefined ? {} : { callback: { url: `${receiverUrl}${wish.callbackPath}` } }),
    },
  });
  const { begun, ended, outcome } = answer;
  const status = statusOf(outcome);
  const taskId = status === 200 ? (answer.data as { taskId: string }).taskId : undefined;
  record({
    kind: 'create',
    ...wish,
    attempt,
    api,
    begun,
    ended,
    outcome,
    ...(taskId === undefined ? {} : { taskId, isReplay: answer.headers?.get('Idempotent-Replay') === 'true' }),
  });
  return { status, taskId };
}
