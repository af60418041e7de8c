/**
 * A text upstream in OpenAI's dialect: a few words for each call, streamed at a pace or whole, with the tokens that it
 * reports in the ledger. `[break]` in a prompt ends its first stream in the middle, `[reject]` is answered with 503 the
 * first time, `[slow]` takes seconds, and `[long]` longer than Temporal is paused.
 */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ProviderLine } from './ledger.ts';

const MARKER = /\bmarker-[\w-]+/;
const WORDS = 12;
const PACE_MS = 40;
const SLOW_PACE_MS = 400;
const LONG_PACE_MS = 1_800;
const BREAK_AFTER = 4;

interface ChatRequest {
  readonly stream?: boolean;
  readonly messages?: readonly { readonly content?: unknown }[];
}

/** The marker in the messages of a call; `none` if there is none. */
export function markerOf({ messages = [] }: ChatRequest): string {
  return MARKER.exec(JSON.stringify(messages))?.[0] ?? 'none';
}

function paceOf(prompt: string): number {
  if (prompt.includes('[long]')) return LONG_PACE_MS;
  return prompt.includes('[slow]') ? SLOW_PACE_MS : PACE_MS;
}

/** The markers whose first request has failed. */
const failed = new Set<string>();

/** @returns whether the request of this marker is to fail: the first one. */
function failsNow(marker: string): boolean {
  if (failed.has(marker)) return false;
  failed.add(marker);
  return true;
}

/** Answers `POST …/chat/completions`. */
export async function answerChat(
  body: ChatRequest,
  response: ServerResponse,
  write: (line: ProviderLine) => void,
): Promise<void> {
  const prompt = JSON.stringify(body.messages ?? []);
  const marker = markerOf(body);
  const paceMs = paceOf(prompt);
  const usage = { inputTokens: 20 + (prompt.length % 13), outputTokens: WORDS };
  write({ kind: 'text', marker, state: 'asked' });
  if (prompt.includes('[reject]') && failsNow(marker)) {
    write({ kind: 'text', marker, state: 'rejected' });
    response.writeHead(503, { 'content-type': 'application/json', 'retry-after': '1' });
    response.end(JSON.stringify({ error: { message: 'The text of this provider.', type: 'server_error' } }));
    return;
  }
  const reportedUsage = {
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
    total_tokens: usage.inputTokens + usage.outputTokens,
  };
  const common = { id: `chat-${marker}`, created: Math.floor(Date.now() / 1000), model: 'words' };
  if (body.stream !== true) {
    await sleep(paceMs === PACE_MS ? PACE_MS : paceMs * WORDS);
    const message = { role: 'assistant', content: wordsOf(WORDS).join('') };
    const choices = [{ index: 0, message, finish_reason: 'stop' }];
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ ...common, object: 'chat.completion', choices, usage: reportedUsage }));
    write({ kind: 'text', marker, state: 'answered', ...usage });
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const say = async (event: unknown): Promise<void> => {
    const text = typeof event === 'string' ? event : JSON.stringify(event);
    if (!response.write(`data: ${text}\n\n`)) await Promise.race([once(response, 'drain'), once(response, 'close')]);
  };
  const chunk = { ...common, object: 'chat.completion.chunk' };
  const isToBreak = prompt.includes('[break]') && failsNow(marker);
  for (const [place, content] of wordsOf(WORDS).entries()) {
    if (response.destroyed) {
      write({ kind: 'text', marker, state: 'left' });
      return;
    }
    if (place === BREAK_AFTER && isToBreak) {
      write({ kind: 'text', marker, state: 'broken' });
      response.destroy();
      return;
    }
    await say({ ...chunk, choices: [{ index: 0, delta: { content }, finish_reason: null }] });
    await sleep(paceMs);
  }
  await say({ ...chunk, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
  await say({ ...chunk, choices: [], usage: reportedUsage });
  await say('[DONE]');
  response.end();
  write({ kind: 'text', marker, state: 'answered', ...usage });
}

function wordsOf(count: number): readonly string[] {
  return Array.from({ length: count }, (_, place) => `word${place} `);
}
