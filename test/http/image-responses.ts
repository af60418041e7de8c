/** What the tests of the built-in tool `image_generation` have in common: responses with their items. */
import assert from 'node:assert/strict';
import type { FailureReason } from '../../src/domain/failure-reason.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { settleTask } from '../../src/tasks/lifecycle/settle.ts';
import { claimOutbox } from '../../src/tasks/outbox/outbox.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { raw } from './raw-request.ts';
import type { RawAnswer } from './raw-request.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

export type Item = Readonly<Record<string, unknown>>;

export interface ResponseBody {
  readonly id: string;
  readonly status: string;
  readonly output: readonly Item[];
  readonly tools: readonly Item[];
  readonly tool_choice: unknown;
  readonly incomplete_details: unknown;
  readonly usage: { readonly input_tokens: number; readonly output_tokens: number };
}

/** The tool with the image model of the task room. */
export const TOOL = { type: 'image_generation', model: 'acme/compatible' };
export const DRAW = 'Generate an image of a red fox in the snow.';

export function postResponse(
  app: ServedApp,
  key: string,
  changes: Readonly<Record<string, unknown>> = {},
  more: Readonly<Record<string, string>> = {},
): Promise<RawAnswer> {
  const body = { model: 'acme/text', input: DRAW, tools: [TOOL], ...changes };
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', ...more };
  return raw(app.url, 'POST', '/v1/responses', headers, JSON.stringify(body));
}

export function bodyOf(answer: RawAnswer): ResponseBody {
  assert.equal(answer.status, 200, answer.text);
  return JSON.parse(answer.text) as ResponseBody;
}

export function itemOf({ output }: ResponseBody, type: string): Item {
  return output.find((item) => item['type'] === type) ?? assert.fail(`no ${type} in ${JSON.stringify(output)}`);
}

/** The text of the messages. */
export function textOf({ output }: ResponseBody): string {
  return output
    .flatMap((item) => (item['type'] === 'message' ? (item['content'] as { text: string }[]) : []))
    .map(({ text }) => text)
    .join('');
}

export async function failTask(app: ServedApp, taskId: TaskId, reason: FailureReason): Promise<void> {
  await claimOutbox(app.room.database, 1_000);
  await settleTask(app.room.database, taskId, { status: 'fail', reason }, { retentionDays: 7 });
}

export interface SettledCall {
  readonly id: string;
  readonly held: bigint;
  readonly captured: bigint;
  readonly input: number;
  readonly output: number;
  readonly isEstimated: boolean;
}

/** The text calls of an account, once all of them are settled. */
export async function settledCalls(app: ServedApp, { id }: ServedAccount, count = 1): Promise<readonly SettledCall[]> {
  let calls: readonly SettledCall[] = [];
  await waitFor(`${count} calls are settled`, async () => {
    const rows = await app.room.rows<SettledCall & { readonly isSettled: boolean }>(
      `SELECT id, held_micro_usd AS held, captured_micro_usd AS captured, input_tokens AS input,
              output_tokens AS output, is_estimated AS "isEstimated", settled_at IS NOT NULL AS "isSettled"
         FROM text_calls WHERE account_id = $1 AND process_id IS NOT NULL ORDER BY created_at`,
      id,
    );
    calls = rows;
    return rows.length === count && rows.every(({ isSettled }) => isSettled);
  });
  return calls;
}
